"""Tags of template engines, shortcodes and merge tags, of any length. They may contain spaces, full stops and line
breaks, and no sentence ends inside of them. Markup inside of them is theirs: they are kept byte for byte."""

import re

from server.text.spans.row import Row

_VALUE = r"""(?:"[^"\[\]]*+"|'[^'\[\]]*+'|[^\s\]\["']++)"""
_BRACKETED = (
    "audio|b|button|caption|center|code|color|contact-form-7|div|embed|gallery|h[1-6]|i|img|li|list|map|playlist|quote|"
    "s|size|spoiler|table|td|tr|u|ul|url|video|youtube"
)
_SMARTY = (
    "assign|block|break|capture|continue|else|elseif|extends|for|foreach|foreachelse|function|if|include|ldelim|literal|"
    "nocache|rdelim|section|strip|while"
)

TEMPLATES = (
    Row(
        "percent tags of ERB, EJS, JSP, ASP, Mason",
        r"<%(?:[^%<]++|%(?!>)|<(?!%))*+%>",
        "<%",
        ("<%= user.first_name %>", "<% if a > 1 && b.late? %>", "<%- include('a') -%>", "<%# a b %>", "<%@ page %>"),
    ),
    Row(
        "hash tags of Underscore and T4",
        r"<#(?:[^#<]++|#(?!>)|<(?!#))*+#>",
        "<#",
        ("<# item #>", "<#= data.title #>", "<# if (a > b) { #>"),
    ),
    Row(
        "directives of FreeMarker",
        r"</?[#@][A-Za-z][\w.]*+(?:\s[^<>]*+)?/?>",
        "<[#@/]",
        ("<#if user.isLate>", "</#if>", '<@macro name="a b"/>', "<#else>"),
    ),
    Row(
        "processing instructions",
        r"<\?(?:[^?<]++|\?(?!>)|<(?!\?))*+\?>",
        r"<\?",
        ("<?php echo $name; ?>", "<?= $x ?>"),
    ),
    Row(
        "double braces of Mustache, Handlebars, Jinja, Liquid, Go, Angular, Hugo's shortcodes",
        r"\$?\{\{(?:\{(?:[^{}]++|\{[^{}]*+\}|\}(?!\}))*+\}\}\}|(?!\{)(?:[^{}]++|\{[^{}]*+\}|\}(?!\}))*+\}\}\}?)",
        r"\{\{",
        (
            "{{ user.name }}", "{{{ raw }}}", "{{- .Title | upper -}}", "{{#if order.late}}", "{{/if}}", "{{> footer}}",
            '{{< figure src="/images/a b.jpg" alt="The cover. It is {blue}." width="600" >}}', "{{boys, number}}",
            "{{% notice warning %}}", "{{ f({a: 1}) }}", "{{ item | date:'dd MMM' }}", "${{ secrets.TOKEN }}",
        ),
    ),
    Row(
        "comments, raw text and code of Liquid, Jinja, Twig",
        r"\{%-?\s{0,9}(?:comment|raw|verbatim|highlight)(?=[\s%-])(?:[^%{]++|%(?!\}))*+%\}(?:[^{]++|\{(?!%))*+\{%-?\s{0,9}end(?:comment|raw|verbatim|highlight)"
        r"\s{0,9}-?%\}",
        r"\{%",
        (
            "{% comment %}A note. It is old.{% endcomment %}", "{%- raw -%}{{ a. b }}{%- endraw -%}",
            "{% highlight ruby %}puts a. b{% endhighlight %}",
        ),
    ),
    Row(
        "percent braces of Jinja, Twig, Liquid",
        r"\{%(?:[^%{]++|%(?!\})|\{(?!%))*+%\}",
        r"\{%",
        (
            "{% if a > 1 %}", "{%- endif -%}", '{% include figure.html src="/a b.png" alt="A house. By the lake." %}',
            "{% trans %}",
        ),
    ),
    Row("comments of Jinja and Twig", r"\{#(?=\s)(?:[^#{]++|#(?!\}))*+#\}", r"\{#", ("{# a comment. #}",)),
    Row("raw output of Blade", r"\{!!(?:[^!{]++|!(?!!\}))*+!!\}", r"\{!!", ("{!! $body !!}",)),
    Row(
        "expressions of shells, JavaScript, Ruby, Thymeleaf",
        r"[$#%*@~]!?\{(?:[^{}\n]++|\{[^{}\n]*+\})*+\}",
        r"[$#%*@~]!?\{",
        ("${HOME}", "${a.name}", "${a ? 'b c' : d}", "${f({a: 1})}", "#{user.name}", "%{total}", "@{/home}", "$!{x}",
         "*{user.name}", "~{footer}"),
    ),
    Row("percent brackets of the Template Toolkit", r"\[%(?:[^%\[]++|%(?!\]))*+%\]", r"\[%", ("[% user.name %]",)),
    Row(
        "double brackets",
        r"\[\[[^\[\]\n]*+\]\]|\[\([$#*]\{[^{}\n]*+\}\)\]",
        r"\[[\[(]",
        ("[[name]]", "[[ user.name ]]", "[[File:a b.png]]", "[[${user.name}]]", "[(${x})]"),
    ),
    Row(
        "merge tags of Mailchimp",
        r"\*\|[^|*\n]*+\|\*",
        r"\*\|",
        ("*|FNAME|*", "*|IF:FNAME|*", "*|DATE:d/m/y|*"),
    ),
    Row(
        "merge tags in percent signs",
        r"%%[A-Za-z_][\w.:-]{0,100}+%%|(?<![\w%])%[A-Za-z_][\w.-]{1,60}%(?![\w\\])|%%=[^%\n]*+%%",
        r"%%|%[A-Za-z_]",
        ("%%first_name%%", "%%FNAME%%", "%FIRST_NAME%", "%name%", "%%=v(@name)=%%"),
        ("It costs 5% of 7% today", "100% sure and 50% happy"),
    ),
    Row(
        "variables and tags of Smarty",
        rf"\{{(?:\$[A-Za-z_]|/(?:{_SMARTY})\b|(?:{_SMARTY})(?=\}}|\b[^{{}}\n$=]*+[$=]))[^{{}}\n]*+\}}|\{{\*(?:[^*{{]++|\*(?!\}}))*+\*\}}",
        r"\{(?:[$*/]|[a-z])",
        ("{$name}", "{$user.name|upper}", "{if $late eq true}", "{/if}", "{foreach from=$a item=b}", "{* a. b *}"),
        ("{if you know}",),
    ),
    Row(
        "attributes of Kramdown and Pandoc",
        r"\{ ?[:#.][^{}\n]*+\}|\{ ?[a-z][\w-]{0,40}+=[\"'][^{}\n]*+\}",
        r"\{ ?(?:[:#.]|[a-z][\w-]{0,20}=)",
        ("{: .note title=x }", "{#custom-id}", '{.class key="a b"}', "{ .button .red }", '{ width="300" align=left }'),
    ),
    Row(
        "shortcodes in brackets of WordPress and bulletin boards",
        rf"\[[A-Za-z][\w-]{{0,60}}+(?:\s++[\w-]{{1,60}}+=(?:{_VALUE}))++\s*+/?\]"
        rf"|\[(?:{_BRACKETED})=[^\[\]\n]*+\]|\[/[A-Za-z][\w-]{{0,60}}+\]|\[(?:{_BRACKETED}|\*)\](?!\()",
        r"\[[/*A-Za-z]",
        (
            '[caption id="attachment_6" align="alignright" width="300"]', "[/caption]", '[gallery ids="1,2,3"]', "[b]",
            "[/b]", "[url=https://example.org/a b]", "[gallery]", "[vc_row a='b c']", '[button text="Buy. Now." /]',
        ),
        ("[optional]", "[the book = good]", "[b](c)"),
    ),
    Row(
        "directives of Blade",
        r"(?<![\w@])@(?:if|elseif|else|endif|foreach|endforeach|for|endfor|forelse|endforelse|while|endwhile|lang|choice|"
        r"include|extends|section|endsection|yield|auth|endauth|guest|endguest|csrf|isset|empty|case|switch|endswitch|"
        r"json|php|endphp|component|endcomponent|slot|endslot|unless|endunless)\b"
        r"(?:\s?\((?:[^()\n]++|\([^()\n]*+\))*+\))?",
        "@",
        ("@if($late)", "@endif", "@foreach ($a as $b)", "@lang('a.b')", "@include('a', ['b' => c(d)])"),
    ),
)  # fmt: skip

_SHOWN = re.compile(
    r"<%[=-]|<#=|<\?(?:=|php\s{1,3}(?:echo|print)\b)|\{\{\{?[~-]?\s{0,3}(?![\s#/^!><%~-]|(?:else|end|if|range|with|block|define|template)\b)|\$|[#%*@~]!?\{|\[\["
    r"|\[\(|\[%\s{0,3}(?:[a-z]|GET\b)|\*\|(?!(?:IF|ELSE|END|INTERESTED)\b)|%|\{\$|\{!!"
)


def shows_value(template: str) -> bool:
    """Whether readers see text in its place: a value, and no condition or other tag."""
    return _SHOWN.match(template) is not None

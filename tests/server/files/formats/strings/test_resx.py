"""Only strings of a .resx file are translated."""

from tests.server.files.formats.strings.upper import texts, upper

RESOURCES = """<?xml version="1.0" encoding="utf-8"?>\r
<root>\r
  <!-- note -->\r
  <resheader name="version"><value>two</value></resheader>\r
  <data name="a" xml:space="preserve">\r
    <value>Hello &lt;b&gt; {0}\r
second</value>\r
    <comment>note</comment>\r
  </data>\r
  <data name="b" type="System.String, mscorlib"><value><![CDATA[a & b]]></value></data>\r
  <data name="c" type="System.Drawing.Size, System.Drawing"><value>a, b</value></data>\r
  <data name="d" mimetype="application/x-microsoft.net.object.bytearray.base64"><value>abc</value></data>\r
  <data name="&gt;&gt;label.Name"><value>label</value></data>\r
  <data name="e"><value /></data>\r
</root>"""


def test_all_but_strings_stays() -> None:
    assert texts(RESOURCES, ".resx") == ["Hello <b> {0}\nsecond", "a & b"]
    expected = RESOURCES.replace("Hello &lt;b&gt; {0}\r\nsecond", "HELLO &lt;B&gt; {0}\r\nSECOND")
    assert upper(RESOURCES, ".resx") == expected.replace("a & b", "A & B")


def test_a_section_of_cdata_stays_one() -> None:
    text = "<root><data name='a'><value><![CDATA[<p>one</p>]]></value></data></root>"
    assert upper(text, ".resx") == text.replace("<p>one</p>", "<P>ONE</P>")

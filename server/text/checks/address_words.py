"""Words with which German addresses people: formal (Sie), informal (du, ihr)."""

from typing import Final


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


INFORMAL: Final = _set(
    """
    du dich dir dein deine deinem deinen deiner deines deins deinetwegen deinetwillen deinerseits euch euer eure
    eurem euren eurer eures euretwegen euretwillen eurerseits
    """
)
"""Also with a capital, as in letters. "ihr" is besides of "she" and "they"."""
VERBS: Final = _set(
    """
    bist hast wirst kannst musst sollst willst darfst magst weißt warst hattest wurdest würdest könntest müsstest
    solltest wolltest dürftest möchtest hättest wärst wärest seid habt werdet könnt müsst sollt wollt dürft mögt
    wisst hattet wurdet würdet könntet müsstet solltet wolltet dürftet möchtet hättet wäret wärt
    """
)
"""Finite verbs that only "du" and "ihr" have."""
POLITE: Final = _set(
    """
    Sie Ihnen Ihr Ihre Ihrem Ihren Ihrer Ihres Ihrerseits Ihretwegen
    """
)
"""With a capital inside a sentence. Where one begins they may also be of "she", "they" and "her"."""
IMPERATIVES: Final = _set(
    """
    abonniere achte addiere aktiviere aktualisiere analysiere antworte arbeite archiviere atme automatisiere
    autorisiere baue beachte beantworte bearbeite bedanke bedenke bediene beeil beeile befolge begebe beginne
    begreife begrüße behalt behalte behandel behandele behebe beherrsche belasse belaste beleidige bemüh bemühe
    benachrichtige benenne benutze beobachte berechne bereinige beruhige berücksichtige berühre beschatte beschreibe
    beschrifte beschränke beschuldige besorg besorge bestell bestelle bestimme bestätige bestücke besuche betrachte
    betätige bewahre beweg bewege bewerbe bezahle beziehe biege biete bleib brich bring bringe deaktiviere
    deautorisiere definiere deinstalliere deklariere denk denke dokumentiere doppelklicke dreh drehe drucke drück
    drücke durchlaufe durchsuche editiere eliminiere empfange empfiehl entdecke entferne entledige entnehme
    entscheide entschuldige entspann entspanne entwerfe entwickel entwickle entzünde erfahre erfasse erforsche
    erfülle ergreife ergänze erhöhe erklär erkläre erkunde erkundige erlaube erlebe ermittel ermittle ermögliche
    erreiche errichte erschieße ersetze erstelle erwarte erweiter erwäge erwähne erzeuge erzähl erzähle exportiere
    fahr fahre fange fass fasse filtere find finde forder fordere frag fäll förder füge fühl fühle führ führe füll
    fülle geh gehe generiere genieße gestalte gestatte gewinne gewähre gib greif greife grüß guck gucke gönne halte
    hasse heb hebe hilf hinder hinterlasse hol hole häng hör höre identifiziere ignorier ignoriere implementiere
    importiere informiere installiere instanziiere integriere iss kaufe kehre kennzeichne klebe kletter klick klicke
    klopfe kläre koche kombiniere komm komme kommuniziere kompiliere konfiguriere konsolidiere konsultiere
    kontaktiere kontrollier kontrolliere konvertiere kopiere korrigiere kürze küss lach lache lad lade lass lasse
    leg lege lehn lehne leih lenk lenke lerne liefere lies logge lösch lösche löse lüg mach mache markiere maximiere
    mecker meide melde merke migriere minimiere misch mische modifiziere motiviere navigiere nenn nenne nimm notiere
    nutz nutze ordne organisiere pack paddel pass passe personalisiere platziere positioniere probier probiere
    programmiere prüfe pushe rechn rechne reduziere registriere reiche reinige reite reiß renn renne repariere
    reserviere rette richte rufe rücke rühr rühre sag sage sammel sammle scanne schaff schaffe schalt schalte schau
    schaue schick schicke schiebe schieß schlage schliesse schließ schließe schnalle schneid schneide schrei schreib
    schreibe schäl schäle scrolle sei send sende setz setze sieh siehe signiere spare speichere sprich spring
    springe spüre starte steck steh stehe steig steige steiger steigere stell stelle stoppe störe such
    synchronisiere säuber tauche tausche tippe trag trage transferiere transportiere traue trenne triff trink tritt
    tu tue töte umarme unterlass unterlasse unterschreib unterschreibe unterschätze untersuche verabrede verausgabe
    verbesser verbiete verbinde verbrauche vereinbare verfolge vergebe vergewisser vergewissere vergib vergiss
    vergleiche vergrößer verhinder verifiziere verkleiner verknüpfe verlass verlasse verlier verliere verlinke
    vermeide vernichte verpass verpasse verrate verschaffe verschicke verschiebe verschone verschwende verschwinde
    versetze versicher versichere versorge versprich versteck verstecke versuch versuche versäum verteidige vertraue
    vervollständige verwahre verwalte verwandle verwechsel verwechsle verweiger verwende verzeih verzeihe
    veröffentliche wach wache wag wandle wart warte wasch wasche wechsle weck wecke wende wiederhole wirf wähle
    würfele würfle zahle zeichne zeig zeige zieh ziehe zwing zwinge zähl zähle zöger zögere änder ändere ärgere
    öffne überanstrenge übergebe überlass überlasse überlege übermittel übermittle übernehme überprüf überprüfe
    überquere überschreibe übersetze überspringe überwache überzeuge
    """
)
"""Of "du". Collected from the first words of translations of English imperatives, without words that are as often
something else, such as nouns."""

/** Folds text to a canonical form, so that a plain search finds disguised words. Pure, linear. */

/** Folded text with the source index of each character. */
export interface FoldedText {
  /**
   * Upper case without accents; look-alikes of `<`, `>` and `_` replaced by them; line breaks as `
   * `, other gaps as a space.
   */
  readonly text: string;
  /** By index of `text`: index of the source character in the original. */
  readonly from: readonly number[];
}

/** Look-alikes that do not decompose into the character they resemble. Letters: those of the markers. */
const LOOK_ALIKES = new Map(
  Object.entries({
    A: "АаΑαᎪꓮ𐊠ᴀɑ",
    C: "СсϹϲᏟꓚᴄ",
    D: "ԀԁᎠꓓᴅ",
    E: "ЕеΕεᎬꓰᴇ",
    L: "ᏞꓡӀӏʟ",
    N: "ΝꓠՆɴ",
    O: "ОоΟοՕօ〇ꓳᴏ",
    R: "ᎡꓣᖇƦʀ",
    S: "ЅѕՏտᏚꓢꜱ",
    T: "ТтΤτᎢꓔᴛ",
    U: "ՍսꓴᴜƱʊ",
    X: "ХхΧχꓫ",
    "<": "‹«≪⟨⟪〈《❮❰˂ᐸ⋘⪡≺⦑⧼⟬ᚲ❬⸦",
    ">": "›»≫⟩⟫〉》❯❱˃ᐳ⋙⪢≻⦒⧽⟭ᚳ❭⸧",
    _: "ˍ▁‗",
  }).flatMap(([plain, others]) => Array.from(others, (other) => [other, plain] as const)),
);

/** First of 26 boxed or circled letters (regional indicators and white on black). */
const BOXED_A: readonly number[] = [0x1f150, 0x1f170, 0x1f1e6];

const LINE_BREAK = /[\v\f\u0085\u2028\u2029]/;
/** Invisible characters: format, control and unassigned characters, fillers, and combining marks. */
const INVISIBLE = /[\p{C}\p{Default_Ignorable_Code_Point}\p{M}\u2800]/u;

/** Matches plain ASCII, which most texts consist of. */
const PLAIN = /^[\t\n\r -~]*$/;

/** Folds a text. */
export function foldText(text: string): FoldedText {
  return PLAIN.test(text) ? foldPlain(text) : foldAny(text);
}

function foldPlain(text: string): FoldedText {
  const from: number[] = [];
  for (let at = 0; at < text.length; at += 1) from.push(at);
  return { text: text.replace(/[\t\r]/g, " ").toUpperCase(), from };
}

function foldAny(text: string): FoldedText {
  const folded: string[] = [];
  const from: number[] = [];
  const known = new Map<string, string>(); // a text has few distinct characters
  let at = 0;
  for (const char of text) {
    let seen = known.get(char);
    if (seen === undefined) known.set(char, (seen = foldCharacter(char)));
    folded.push(seen);
    for (let unit = 0; unit < seen.length; unit += 1) from.push(at);
    at += char.length;
  }
  return { text: folded.join(""), from };
}

function foldCharacter(char: string): string {
  if (char >= " " && char <= "~") return char.toUpperCase();
  if (char === "\n") return char;
  if (char === "\t" || char === "\r") return " ";
  const boxed = boxedLetter(char);
  if (boxed !== undefined) return boxed;
  let seen = "";
  for (const part of LOOK_ALIKES.get(char) ?? char.normalize("NFKD")) {
    if (LINE_BREAK.test(part)) seen += "\n";
    else if (INVISIBLE.test(part)) continue;
    else if (/\s/.test(part)) seen += " ";
    else if (/\p{Pc}/u.test(part)) seen += "_";
    else if (/\p{Pd}/u.test(part)) seen += "-";
    else seen += LOOK_ALIKES.get(part) ?? part.toUpperCase();
  }
  return seen;
}

function boxedLetter(char: string): string | undefined {
  const code = char.codePointAt(0) ?? 0;
  const first = BOXED_A.find((one) => code >= one && code < one + 26);
  return first === undefined ? undefined : String.fromCharCode(65 + code - first);
}

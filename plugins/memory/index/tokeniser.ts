/** The words of a text, as they are searched: no case, no accents; scripts without spaces in pairs of characters. Pure. */

/** Scripts whose writers put no spaces between words. */
const UNSPACED =
  "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}";
const WORD = new RegExp(`[${UNSPACED}]+|(?:(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}_])+`, "gu");
const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, "u");

/** Characters of a word that count: longer ones are identifiers and encoded data, told apart by their beginning. */
const MAX_WORD_CHARS = 64;

export function wordsOf(text: string): string[] {
  const folded = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replaceAll("ς", "σ");
  const found = folded.match(WORD) ?? [];
  return found.flatMap((word) => (IS_UNSPACED.test(word) ? pairs(word) : [word.slice(0, MAX_WORD_CHARS)]));
}

/** `天気予報`: `天気`, `気予`, `予報`. A single character stays one. */
function pairs(run: string): string[] {
  const characters = Array.from(run);
  if (characters.length < 2) return characters;
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}

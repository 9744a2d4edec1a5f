/** Splits a text into search words: folds case and accents, cuts scripts without spaces into pairs of characters. Pure. */

/** Scripts without spaces between words. */
const UNSPACED =
  "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}";
const WORD = new RegExp(`[${UNSPACED}]+|(?:(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}_])+`, "gu");
const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, "u");

/** Significant characters of a word: longer ones are identifiers and encoded data, which differ in their beginning. */
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

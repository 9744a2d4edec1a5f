/** The texts of the panel in the language of the browser. */
import { en, type Texts } from "../texts/en.ts";
import { keepPreference, preference } from "./kept.ts";

export type { Texts };

/** Current texts. Read them while drawing, so that a change of the language shows. */
export let t: Texts = en;
/** Language of dates and numbers. */
export let locale: string = navigator.language;

/** Languages by their code; English is part of the first load. */
const OTHERS: Readonly<Record<string, () => Promise<Texts>>> = {
  de: async () => (await import("../texts/de.ts")).de,
};
export const LANGUAGES = ["en", ...Object.keys(OTHERS)];
const KEY = "svc-panel.language";

/** The chosen language; `undefined`: that of the browser. */
export function chosenLanguage(): string | undefined {
  return preference(KEY);
}

/** The text of a word of the gateway; a word that has none stays as it is. */
export function named(texts: Readonly<Record<string, string>>, word: string): string {
  return Object.hasOwn(texts, word) ? (texts[word] ?? word) : word;
}

/** Loads the chosen language, or the first one of the browser that exists. */
export async function useLanguage(choice?: string): Promise<void> {
  if (choice !== undefined) keepPreference(KEY, choice);
  const wanted = [chosenLanguage(), ...navigator.languages].flatMap((tag) => tag?.slice(0, 2).toLowerCase() ?? []);
  const language = wanted.find((tag) => LANGUAGES.includes(tag)) ?? "en";
  t = (await OTHERS[language]?.()) ?? en;
  locale = navigator.languages.find((tag) => tag.startsWith(language)) ?? language;
  document.documentElement.lang = language;
}

/** Light or dark, as the system or as people chose for this browser. */
import { keepPreference, preference } from "../core/kept.ts";

export const THEMES = ["auto", "light", "dark"] as const;
const KEY = "svc-panel.theme";

export function chosenTheme(): (typeof THEMES)[number] {
  const kept = preference(KEY);
  return THEMES.find((theme) => theme === kept) ?? "auto";
}

/** @param choice of people. Default: the kept one */
export function useTheme(choice?: string): void {
  if (choice !== undefined) keepPreference(KEY, choice);
  document.documentElement.dataset["theme"] = choice ?? chosenTheme();
}

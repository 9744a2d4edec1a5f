/** Light or dark, as the system or as people chose for this browser. */
import { keepPreference, preference } from "../core/kept.ts";

export const THEMES = ["auto", "light", "dark"] as const;
const KEY = "svc-panel.theme";

export function chosenTheme(): (typeof THEMES)[number] {
  const kept = preference(KEY);
  return THEMES.find((theme) => theme === kept) ?? "auto";
}

export function useTheme(theme: string = chosenTheme()): void {
  keepPreference(KEY, theme);
  document.documentElement.dataset["theme"] = theme;
}

/** Light or dark, as the system or as people chose for this browser. */
export const THEMES = ["auto", "light", "dark"] as const;
const KEY = "svc-panel.theme";

export function chosenTheme(): (typeof THEMES)[number] {
  const kept = localStorage.getItem(KEY);
  return THEMES.find((theme) => theme === kept) ?? "auto";
}

export function useTheme(theme: string = chosenTheme()): void {
  localStorage.setItem(KEY, theme);
  document.documentElement.dataset["theme"] = theme;
}

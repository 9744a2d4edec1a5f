/** Settings of this browser: appearance, language, signing out. */
import { html } from "lit";
import type { App } from "../core/app.ts";
import { chosenLanguage, LANGUAGES, t, useLanguage } from "../core/text.ts";
import { confirm, openDialog } from "../parts/dialog.ts";
import { chosenTheme, THEMES, useTheme } from "./theme.ts";

export function openSettings(app: App): void {
  const { connection } = app;
  const version = connection.client?.hello.server.version ?? "";
  void openDialog({
    title: t.shell.settings,
    body: ({ close, redraw }) => {
      const themes = { auto: t.shell.themeAuto, light: t.shell.themeLight, dark: t.shell.themeDark };
      const setTheme = (event: Event) => useTheme((event.target as HTMLSelectElement).value);
      const setLanguage = async (event: Event) => {
        await useLanguage((event.target as HTMLSelectElement).value);
        redraw();
        app.redraw();
      };
      const signOut = async () => {
        close();
        await confirm({
          title: t.shell.signOut,
          text: html`<p>${t.shell.signOutText}</p>`,
          action: t.shell.signOut,
          work: () => connection.signOut(),
        });
      };
      const language = chosenLanguage() ?? document.documentElement.lang;
      return html`<div class="content">
          <label class="field"
            ><span>${t.shell.theme}</span>
            <select @change=${setTheme}>
              ${THEMES.map((theme) => html`<option value=${theme} ?selected=${theme === chosenTheme()}>${themes[theme]}</option>`)}
            </select>
          </label>
          <label class="field"
            ><span>${t.shell.language}</span>
            <select @change=${setLanguage}>
              ${LANGUAGES.map((tag) => html`<option value=${tag} ?selected=${tag === language}>${nameOf(tag)}</option>`)}
            </select>
          </label>
          <p class="quiet">${t.shell.version(version)} · ${t.shell.otherGateway(connection.url)}</p>
        </div>
        <footer>
          <button @click=${signOut}>${t.shell.signOut}</button>
          <span class="fill"></span>
          <button class="primary" @click=${() => close()}>${t.common.close}</button>
        </footer>`;
    },
  });
}

/** A language in its own name. */
function nameOf(tag: string): string {
  return new Intl.DisplayNames([tag], { type: "language" }).of(tag) ?? tag;
}

/** A button that unfolds actions. Escape, a choice, or leaving it folds it again. */
import { html, type TemplateResult } from "lit";
import type { IconNode } from "lucide";
import { icon } from "./icon.ts";
import "./menu.css";

export interface MenuItem {
  readonly label: string;
  readonly icon: IconNode;
  readonly isDangerous?: boolean;
  readonly run: () => void;
}

export function menu(label: string, symbol: IconNode, items: readonly MenuItem[]): TemplateResult {
  const fold = (event: Event, isFocused: boolean) => {
    const details = (event.currentTarget as HTMLElement).closest("details");
    if (!details?.open) return;
    details.open = false;
    if (isFocused) details.querySelector("summary")?.focus();
  };
  return html`<details
    class="menu-box"
    @keydown=${(event: KeyboardEvent) => event.key === "Escape" && fold(event, true)}
    @focusout=${(event: FocusEvent) => {
      const inside = (event.currentTarget as HTMLElement).contains(event.relatedTarget as Node | null);
      if (!inside) fold(event, false);
    }}
  >
    <summary class="button plain" aria-label=${label} title=${label}>${icon(symbol)}</summary>
    <div class="menu-items">
      ${items.map(
        ({ label: text, icon: picture, isDangerous = false, run }) =>
          html`<button
            class="plain ${isDangerous ? "danger" : ""}"
            @pointerdown=${(event: Event) => event.preventDefault() /* browsers that do not focus buttons would fold first */}
            @click=${(event: Event) => {
              fold(event, true);
              run();
            }}
          >
            ${icon(picture)}${text}
          </button>`,
      )}
    </div>
  </details>`;
}

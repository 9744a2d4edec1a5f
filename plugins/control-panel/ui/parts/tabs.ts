/** Tabs: arrow keys move between them, as screen readers announce. */
import { html, type TemplateResult } from "lit";
import { ref } from "lit/directives/ref.js";
import "./tabs.css";

export interface Tabs<T extends string> {
  readonly label: string;
  readonly tabs: readonly (readonly [id: T, label: string])[];
  readonly chosen: T;
  readonly choose: (id: T) => void;
  /** Draws the chosen one. */
  readonly content: () => TemplateResult;
}

export function tabs<T extends string>({ label, tabs: all, chosen, choose, content }: Tabs<T>): TemplateResult {
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const index = all.findIndex(([id]) => id === chosen);
    const next = (index + step + all.length) % all.length;
    const target = (event.currentTarget as Element).children[next] as HTMLElement | undefined;
    const id = all[next]?.[0];
    if (id === undefined) return;
    event.preventDefault();
    choose(id);
    target?.focus();
  };
  return html`<div class="tabs" role="tablist" aria-label=${label} @keydown=${move}>
      ${all.map(
        ([id, text]) =>
          html`<button
            role="tab"
            id=${`tab-${id}`}
            aria-selected=${id === chosen}
            aria-controls="tab-content"
            tabindex=${id === chosen ? 0 : -1}
            ${ref(id === chosen ? toSight : undefined)}
            @click=${() => choose(id)}
          >
            ${text}
          </button>`,
      )}
    </div>
    <div id="tab-content" class="tab-content" role="tabpanel" aria-labelledby=${`tab-${chosen}`}>${content()}</div>`;
}

/** Narrow screens show only some of the tabs. */
function toSight(tab: Element | undefined): void {
  requestAnimationFrame(() => tab?.scrollIntoView({ block: "nearest", inline: "nearest" }));
}

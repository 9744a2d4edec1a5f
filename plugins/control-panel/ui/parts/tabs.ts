/** Tabs: one is selected, arrow keys move between them. */
import { html, type TemplateResult } from "lit";
import { ref } from "lit/directives/ref.js";
import "./tabs.css";

/** @param content drawn below the tabs: that of the selected one */
export function tabs<Id extends string>(options: {
  readonly label: string;
  readonly tabs: readonly (readonly [id: Id, text: string])[];
  readonly selected: Id;
  readonly select: (id: Id) => void;
  readonly content: () => TemplateResult;
}): TemplateResult {
  const { label, tabs: all, selected, select, content } = options;
  const move = (event: KeyboardEvent) => {
    const at = all.findIndex(([id]) => id === selected);
    const steps: Readonly<Record<string, number>> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 };
    const step = steps[event.key];
    const next = step === undefined ? undefined : all.at(step % all.length);
    if (!next) return;
    event.preventDefault();
    select(next[0]);
    const list = event.currentTarget as HTMLElement;
    list.querySelector<HTMLElement>(`[data-tab="${next[0]}"]`)?.focus();
  };
  const reveal = (list?: Element) => {
    if (!(list instanceof HTMLElement) || list.dataset["shown"] === selected) return;
    list.dataset["shown"] = selected;
    requestAnimationFrame(() => {
      const tab = list.querySelector<HTMLElement>('[aria-selected="true"]');
      if (tab) list.scrollLeft = tab.offsetLeft - list.offsetLeft - list.clientWidth / 3;
    });
  };
  return html`<div class="tabs" role="tablist" aria-label=${label} @keydown=${move} ${ref(reveal)}>
      ${all.map(
        ([id, text]) =>
          html`<button
            role="tab"
            id=${`tab-${id}`}
            data-tab=${id}
            aria-selected=${id === selected}
            aria-controls="tab-content"
            tabindex=${id === selected ? 0 : -1}
            @click=${() => select(id)}
          >
            ${text}
          </button>`,
      )}
    </div>
    <div id="tab-content" class="tab-content" role="tabpanel" aria-labelledby=${`tab-${selected}`}>${content()}</div>`;
}

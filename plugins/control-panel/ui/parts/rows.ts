/** A list of any length: only the rows in sight are in the document. `<svc-rows>`. */
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import { html, nothing, render, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";

/** What the list shows; set as the property `list`. */
export interface RowList<T = unknown> {
  readonly items: readonly T[];
  /** Identity of a row, stable while the list changes. */
  readonly key: (item: T) => string | number;
  readonly row: (item: T, index: number) => TemplateResult;
  /** Expected height of a row in pixels; real heights are measured. */
  readonly height: number;
  /** Stays at the end while people are at the end, e.g. for logs and conversations. Default false. */
  readonly followsEnd?: boolean;
  /** Called when people scroll near the start: load older items. */
  readonly onStart?: () => void;
  /** Accessible name of the list. */
  readonly label: string;
  /** Role of the list for screen readers. Default `list`. */
  readonly role?: "list" | "log";
}

/** Distance to an end of the list that counts as being there. */
const NEAR_PX = 80;

export class SvcRows extends HTMLElement {
  #list: RowList | undefined;
  #rows: Virtualizer<HTMLElement, HTMLElement> | undefined;
  #unmount: (() => void) | undefined;
  #isAtEnd = true;

  set list(list: RowList) {
    this.#list = list;
    if (!this.isConnected) return;
    if (!this.#rows) this.#start();
    const wasAtEnd = this.#isAtEnd;
    this.#configure();
    if (list.followsEnd === true && wasAtEnd) this.scrollToEnd();
    this.#draw();
  }

  /** Whether the end of the list is in sight. */
  get isAtEnd(): boolean {
    return this.#isAtEnd;
  }

  scrollToEnd(): void {
    this.#isAtEnd = true;
    const last = (this.#list?.items.length ?? 0) - 1;
    if (last < 0) return;
    this.#rows?.scrollToIndex(last, { align: "end" });
    requestAnimationFrame(() => (this.scrollTop = this.scrollHeight)); // after the new rows were measured
  }

  /** @param align `auto`: only as far as needed. Default `center` */
  scrollToIndex(index: number, align: "center" | "auto" = "center"): void {
    this.#isAtEnd = false;
    this.#rows?.scrollToIndex(index, { align });
  }

  connectedCallback(): void {
    this.tabIndex = 0;
    if (this.#list && !this.#rows) this.#start();
  }

  disconnectedCallback(): void {
    this.#unmount?.();
    this.#rows = undefined;
    this.removeEventListener("scroll", this.#scrolled);
  }

  #start(): void {
    this.#rows = new Virtualizer(this.#options());
    this.#unmount = this.#rows._didMount();
    this.addEventListener("scroll", this.#scrolled, { passive: true });
    this.#configure();
    if (this.#list?.followsEnd === true) this.scrollToEnd();
    this.#draw();
  }

  readonly #scrolled = (): void => {
    this.#isAtEnd = this.scrollHeight - this.scrollTop - this.clientHeight < NEAR_PX;
    if (this.scrollTop < NEAR_PX) this.#list?.onStart?.();
  };

  #options() {
    const { items = [], key, height = 40, followsEnd = false } = this.#list ?? {};
    return {
      count: items.length,
      getScrollElement: () => this as HTMLElement,
      estimateSize: () => height,
      getItemKey: (index: number) => (key && index < items.length ? key(items[index]) : index),
      overscan: 8,
      anchorTo: followsEnd ? ("end" as const) : ("start" as const), // older rows that are added do not move those in sight
      observeElementRect,
      observeElementOffset,
      scrollToFn: elementScroll,
      onChange: () => this.#draw(),
    };
  }

  #configure(): void {
    this.#rows?.setOptions(this.#options());
    this.#stretch(); // first, or the browser would limit the new scroll position to the old height
    this.#rows?._willUpdate();
  }

  #stretch(): void {
    const space = this.firstElementChild as HTMLElement | null;
    if (space && this.#rows) space.style.height = `${this.#rows.getTotalSize()}px`;
  }

  #draw(): void {
    const list = this.#list;
    const rows = this.#rows;
    if (!list || !rows) return;
    const shown = rows.getVirtualItems().filter(({ index }) => index < list.items.length);
    const measure = (element: Element | undefined) => element && rows.measureElement(element as HTMLElement);
    const { role = "list" } = list;
    const focused = document.activeElement as HTMLElement | null;
    const hadFocus = focused !== null && this.contains(focused);
    render(
      html`<div
        class="space"
        role=${role}
        aria-label=${list.label}
        aria-live=${role === "log" ? "off" : nothing /* rows that scroll into sight are no news */}
      >
        ${repeat(
          shown,
          ({ key }) => key,
          ({ index }) =>
            html`<div class="row" role=${role === "list" ? "listitem" : "presentation"} data-index=${index}>
              ${list.row(list.items[index], index)}
            </div>`,
        )}
      </div>`,
      this,
    );
    this.#stretch();
    const space = this.firstElementChild as HTMLElement;
    const starts = new Map(shown.map(({ index, start }) => [String(index), start]));
    for (const element of space.children) {
      const row = element as HTMLElement;
      row.style.transform = `translateY(${starts.get(row.dataset["index"] ?? "") ?? 0}px)`;
      measure(row);
    }
    if (list.followsEnd === true && this.#isAtEnd) this.scrollTop = this.scrollHeight;
    // A row that moved or left took the focus with it.
    if (hadFocus && document.activeElement !== focused)
      (this.contains(focused) ? focused : this).focus({ preventScroll: true });
  }
}

customElements.define("svc-rows", SvcRows);

/** Typed `list` of `<svc-rows .list=${rows({...})}>`. */
export function rows<T>(list: RowList<T>): RowList {
  return list as unknown as RowList;
}

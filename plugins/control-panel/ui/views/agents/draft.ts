/** A change of the configuration that people collect before they save it: the gateway limits how often it is written. */
import { html, nothing, type TemplateResult } from "lit";
import type { ViewContext } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { badge, failed } from "../../parts/show.ts";
import { toast } from "../../parts/toast.ts";
import type { Settings } from "./entries.ts";

export interface Draft<T> {
  /** As people changed it, else as stored. */
  value(): T;
  readonly isChanged: boolean;
  change(value: T): void;
  /** Buttons to save and to discard, and why saving failed. @param isQuiet draws nothing while nothing is changed */
  bar(isQuiet?: boolean): TemplateResult | typeof nothing;
}

export interface DraftOptions<T> {
  readonly context: ViewContext;
  readonly settings: () => Settings;
  readonly stored: () => T;
  /** @param base configuration when people began: saving is refused if it changed since */
  readonly save: (value: T, base: Settings) => Promise<void>;
  /** Loads again what depends on the value. */
  readonly reload: () => Promise<unknown>;
}

export function createDraft<T>({ context, settings, stored, save, reload }: DraftOptions<T>): Draft<T> {
  let draft: { readonly base: Settings; readonly value: T } | undefined;
  let error: unknown;
  let isBusy = false;

  const discard = async () => {
    draft = undefined;
    error = undefined;
    context.redraw();
    await reload();
  };
  const store = async () => {
    const saved = draft;
    if (!saved) return;
    isBusy = true;
    error = undefined;
    context.redraw();
    try {
      await save(saved.value, saved.base);
      await reload();
      draft = draft === saved ? undefined : draft && { ...draft, base: settings() }; // changed during the save
      toast(t.agents.savedConfig, "good");
    } catch (failure) {
      error = failure;
    }
    isBusy = false;
    context.redraw();
  };
  return {
    value: () => (draft ? draft.value : stored()),
    get isChanged() {
      return draft !== undefined;
    },
    change(value) {
      draft = { base: draft?.base ?? settings(), value };
      context.redraw();
    },
    bar: (isQuiet = false) =>
      isQuiet && !draft
        ? nothing
        : html`${error === undefined ? nothing : failed(error)}
            <div class="actions">
              <button class="primary" ?disabled=${!draft || isBusy} @click=${store}>${t.common.save}</button>
              <button ?disabled=${!draft || isBusy} @click=${discard}>${t.document.discard}</button>
              ${draft ? badge(t.document.unsaved, "warning") : nothing}
            </div>`,
  };
}

/** The line above a conversation: title, model, thinking, context, search, actions. */
import { type ModelChoice, models } from "@svc/sdk/models";
import { sessions } from "@svc/sdk/sessions";
import { html, nothing, type TemplateResult } from "lit";
import {
  ChevronDown,
  ChevronUp,
  EllipsisVertical,
  FileText,
  Minimize2,
  PanelLeft,
  Pencil,
  RotateCcw,
  Search,
  Trash2,
  X,
} from "lucide";
import type { ViewContext } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { copy } from "../../parts/command.ts";
import { askFor, confirm } from "../../parts/dialog.ts";
import { icon } from "../../parts/icon.ts";
import { menu, type MenuItem } from "../../parts/menu.ts";
import { attempt } from "../../parts/toast.ts";
import { compact } from "../../parts/time.ts";
import type { Find } from "./find.ts";
import type { Session } from "./session-list.ts";

/** Levels of thinking, weakest first. Spec: protocol/methods-chat.md §2. */
const LEVELS = ["off", "minimal", "low", "medium", "high", "xhigh", "adaptive"];

export interface HeadOptions {
  readonly context: ViewContext;
  readonly find: Find;
  /** Facts of the open conversation. */
  readonly now: () => {
    readonly key: string;
    readonly title: string;
    readonly row: Session | undefined;
    readonly defaults: { readonly model: string | null; readonly modelProvider: string | null };
    readonly isMain: boolean;
    readonly isBusy: boolean;
    readonly hasOlder: boolean;
  };
  readonly showSessions: () => void;
  readonly send: (text: string) => void;
  readonly markdown: () => string;
  /** The row of the session changed. */
  readonly changed: () => Promise<void>;
  readonly startedOver: () => void;
  readonly deleted: (key: string) => void;
}

export function createHead(options: HeadOptions): { render(): TemplateResult } {
  const { context, find, now } = options;
  const mayChange = context.may("operator.admin");
  const choices = context.resource(async () =>
    context.serves(models.list) ? (await context.call(models.list, {})).models : ([] as readonly ModelChoice[]),
  );

  const patch = (change: { model?: string | null; thinkingLevel?: string | null }) =>
    attempt(async () => {
      await context.call(sessions.patch, { key: now().key, ...change });
      await options.changed();
    });

  const rename = async () => {
    const { key, row } = now();
    const values = await askFor({
      title: t.chat.rename,
      fields: [{ name: "label", label: t.chat.label, value: row?.label ?? "", hint: t.chat.labelHint }],
      action: t.common.save,
      work: ({ label = "" }) => context.call(sessions.patch, { key, label: label.trim() === "" ? null : label.trim() }),
    });
    if (values) await options.changed();
  };

  const startOver = async () => {
    const { key } = now();
    const work = () => context.call(sessions.reset, { key, reason: "new" });
    const question = { title: t.chat.startOver, text: t.chat.startOverText, action: t.chat.startOver };
    if (await confirm({ ...question, work })) options.startedOver();
  };

  const remove = async () => {
    const { key } = now();
    const work = () => context.call(sessions.delete, { key });
    const question = { title: t.chat.delete, text: t.chat.deleteText, action: t.common.delete, isDangerous: true };
    if (await confirm({ ...question, work })) options.deleted(key);
  };

  function actions(): readonly MenuItem[] {
    const { row, isMain, isBusy } = now();
    const exists = row !== undefined;
    const mayWrite = context.may("operator.write") && context.serves("commands.list");
    return [
      ...(exists ? [{ label: t.chat.copyMarkdown, icon: FileText, run: () => copy(options.markdown()) }] : []),
      ...(exists && mayChange ? [{ label: t.chat.rename, icon: Pencil, run: () => void rename() }] : []),
      ...(exists && mayWrite && !isBusy
        ? [{ label: t.chat.compact, icon: Minimize2, run: () => options.send("/compact") }]
        : []),
      ...(exists && mayChange ? [{ label: t.chat.startOver, icon: RotateCcw, run: () => void startOver() }] : []),
      ...(exists && mayChange && !isMain
        ? [{ label: t.chat.delete, icon: Trash2, isDangerous: true, run: () => void remove() }]
        : []),
    ];
  }

  /** The model that answers next, and whether the session chose it. */
  function modelChooser(): TemplateResult | typeof nothing {
    const { row, defaults } = now();
    const nameOf = (provider?: string | null, id?: string | null) => (provider && id ? `${provider}/${id}` : "");
    const standard = nameOf(defaults.modelProvider, defaults.model);
    const effective = row ? nameOf(row.modelProvider, row.model) : standard;
    const all = choices.value ?? [];
    if (effective === "" && all.length === 0) return nothing;
    if (!mayChange || all.length < 2) return html`<span class="quiet ellipsis model-name">${effective}</span>`;
    const isListed = all.some(({ provider, id }) => `${provider}/${id}` === effective);
    return html`<select
      class="small-select model"
      aria-label=${t.chat.model}
      title=${t.chat.model}
      @change=${(event: Event) => {
        const { value } = event.target as HTMLSelectElement;
        void patch({ model: value === standard ? null : value });
      }}
    >
      ${isListed || effective === "" ? nothing : html`<option value=${effective} selected>${effective}</option>`}
      ${all.map(({ provider, id, name }) => {
        const value = `${provider}/${id}`;
        const text = value === standard ? t.chat.modelDefault(name) : name;
        return html`<option value=${value} .selected=${value === effective}>${text}</option>`;
      })}
    </select>`;
  }

  function levelChooser(): TemplateResult | typeof nothing {
    const { row, defaults } = now();
    const provider = row?.modelProvider ?? defaults.modelProvider;
    const id = row?.model ?? defaults.model;
    const model = choices.value?.find((one) => one.provider === provider && one.id === id);
    if (!mayChange || model?.reasoning !== true) return nothing;
    const level = row?.thinkingLevel ?? "";
    return html`<select
      class="small-select"
      aria-label=${t.chat.level}
      title=${t.chat.level}
      @change=${(event: Event) => {
        const { value } = event.target as HTMLSelectElement;
        void patch({ thinkingLevel: value === "" ? null : value });
      }}
    >
      <option value="" .selected=${level === ""}>${t.chat.level}: ${t.chat.levelDefault}</option>
      ${LEVELS.map((name) => html`<option value=${name} .selected=${name === level}>${t.chat.level}: ${name}</option>`)}
    </select>`;
  }

  function contextMeter(): TemplateResult | typeof nothing {
    const { totalTokens: used, contextTokens: limit } = now().row ?? {};
    if (used === undefined || used === 0) return nothing;
    const text =
      limit === undefined ? t.chat.contextUsed(compact(used)) : t.chat.context(compact(used), compact(limit));
    return html`<span class="context" title=${t.chat.contextTitle}>
      ${limit === undefined ? nothing : html`<meter min="0" max=${limit} value=${used} high=${limit * 0.85} aria-label=${t.chat.contextTitle}></meter>`}
      <small>${text}</small>
    </span>`;
  }

  function finder(): TemplateResult {
    const { hasOlder } = now();
    const step = (by: number) => () => find.step(by);
    return html`<div class="find" role="search">
      <input
        type="search"
        aria-label=${t.chat.find}
        placeholder=${t.chat.find}
        .value=${find.text}
        @input=${(event: Event) => find.look((event.target as HTMLInputElement).value)}
        @keydown=${(event: KeyboardEvent) => {
          if (event.key === "Enter") find.step(event.shiftKey ? 1 : -1);
          if (event.key === "Escape") find.close();
        }}
      />
      <span class="quiet" role="status">${find.text === "" ? "" : t.chat.matches(find.at, find.count)}</span>
      <button class="plain" aria-label=${t.chat.findPrevious} title=${t.chat.findPrevious} @click=${step(-1)}>
        ${icon(ChevronUp)}
      </button>
      <button class="plain" aria-label=${t.chat.findNext} title=${t.chat.findNext} @click=${step(1)}>
        ${icon(ChevronDown)}
      </button>
      ${
        hasOlder
          ? html`<button ?disabled=${find.isLoading} @click=${() => find.loadAll()}>
              ${find.isLoading ? html`<span class="spinner small"></span>` : nothing}${t.chat.findOlder}
            </button>`
          : nothing
      }
      <button class="plain" aria-label=${t.common.close} title=${t.common.close} @click=${() => find.close()}>
        ${icon(X)}
      </button>
    </div>`;
  }

  return {
    render: () =>
      html`<header class="chat-head">
          <button
            class="plain to-sessions"
            aria-label=${t.chat.showConversations}
            title=${t.chat.showConversations}
            @click=${options.showSessions}
          >
            ${icon(PanelLeft)}
          </button>
          <h1 class="ellipsis" title=${now().title}>${now().title}</h1>
          <span class="fill"></span>
          ${contextMeter()} ${levelChooser()} ${modelChooser()}
          <button
            class="plain"
            aria-label=${t.chat.find}
            title="${t.chat.find} (Ctrl+F)"
            aria-expanded=${find.isOpen}
            @click=${() => (find.isOpen ? find.close() : find.open())}
          >
            ${icon(Search)}
          </button>
          ${actions().length === 0 ? nothing : menu(t.chat.menu, EllipsisVertical, actions())}
        </header>
        ${find.isOpen ? finder() : nothing}`,
  };
}

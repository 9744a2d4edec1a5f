/** Settings of one session, as a form that sends only what people changed. */
import type { ParamsOf } from "@svc/sdk";
import type { ModelChoice } from "@svc/sdk/models";
import { sessions } from "@svc/sdk/sessions";
import { html, nothing, type TemplateResult } from "lit";
import { keyed } from "lit/directives/keyed.js";
import type { ViewContext } from "../../core/app.ts";
import { named, t } from "../../core/text.ts";
import { failed } from "../../parts/show.ts";
import { toast } from "../../parts/toast.ts";
import type { Row } from "./list.ts";

/** Settings with a fixed set of values. The empty choice restores the default. */
const CHOICES = {
  thinkingLevel: ["off", "minimal", "low", "medium", "high", "xhigh", "adaptive"],
  verboseLevel: ["off", "on", "full"],
  reasoningLevel: ["off", "on", "stream"],
  responseUsage: ["off", "tokens", "full"],
  sendPolicy: ["allow", "deny"],
  groupActivation: ["mention", "always"],
  execSecurity: ["deny", "allowlist", "full"],
  execAsk: ["off", "on-miss", "always"],
  execHost: ["sandbox", "gateway", "node"],
  elevatedLevel: ["off", "ask"],
} as const;
type ChoiceName = keyof typeof CHOICES;

const TALK: readonly ChoiceName[] = ["thinkingLevel", "reasoningLevel", "verboseLevel", "responseUsage", "sendPolicy"];
const EXEC: readonly ChoiceName[] = ["execSecurity", "execAsk", "execHost", "elevatedLevel"];

export function createSettings(
  context: ViewContext,
  models: () => readonly ModelChoice[],
  changed: (key: string) => Promise<void>,
): { draw(row: Row): TemplateResult } {
  let problem: { readonly key: string; readonly error: unknown } | undefined;
  let isBusy = false;
  /** Increased when the form must show stored values again. */
  let version = 0;

  const save = (row: Row) => async (event: SubmitEvent) => {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    const patch = changesOf(row, (name) => (data.get(name) as string | null)?.trim());
    if (Object.keys(patch).length === 0) return toast(t.sessions.unchanged);
    isBusy = true;
    context.redraw();
    try {
      // Each value is one of the choices of its setting.
      await context.call(sessions.patch, { key: row.key, ...patch } as ParamsOf<typeof sessions.patch>);
      problem = undefined;
      toast(t.sessions.saved, "good");
      await changed(row.key);
      version++;
    } catch (error) {
      problem = { key: row.key, error };
    }
    isBusy = false;
    context.redraw();
  };

  const select = (name: ChoiceName, row: Row) => {
    const stored = row[name] ?? "";
    const known: readonly string[] = CHOICES[name];
    const values = stored === "" || known.includes(stored) ? known : [...known, stored];
    return html`<label class="field">
      <span>${t.sessions.settings[name]}</span>
      <select name=${name}>
        <option value="" ?selected=${stored === ""}>${t.sessions.byDefault}</option>
        ${values.map((value) => html`<option value=${value} ?selected=${value === stored}>${named(t.sessions.words, value)}</option>`)}
      </select>
    </label>`;
  };

  function model(row: Row): TemplateResult {
    const stored = modelOf(row);
    const ids = models().map(({ provider, id }) => `${provider}/${id}`);
    const all = stored === "" || ids.includes(stored) ? ids : [stored, ...ids];
    return html`<label class="field all">
      <span>${t.sessions.settings.model}</span>
      <select name="model">
        <option value="" ?selected=${stored === ""}>${t.sessions.byDefault}</option>
        ${all.map((id) => html`<option value=${id} ?selected=${id === stored}>${id}</option>`)}
      </select>
    </label>`;
  }

  return {
    draw: (row) =>
      html`${keyed(
        `${row.key} ${version} ${models().length}`,
        html`<form class="session-form" @submit=${save(row)}>
          <label class="field all">
            <span>${t.sessions.label}</span>
            <input name="label" maxlength="64" .defaultValue=${row.label ?? ""} autocomplete="off" />
            <small>${t.sessions.labelHint}</small>
          </label>
          ${model(row)} ${TALK.map((name) => select(name, row))}
          ${row.kind === "group" ? select("groupActivation", row) : nothing}
          <h3>${t.sessions.execTitle}</h3>
          <p class="quiet all">${t.sessions.execText}</p>
          ${EXEC.map((name) => select(name, row))}
          <label class="field all">
            <span>${t.sessions.settings.execNode}</span>
            <input name="execNode" .defaultValue=${row.execNode ?? ""} autocomplete="off" />
          </label>
          ${problem?.key === row.key ? html`<div class="all">${failed(problem.error)}</div>` : nothing}
          <div class="actions all"><button class="primary" ?disabled=${isBusy}>${t.common.save}</button></div>
        </form>`,
      )}`,
  };
}

/** The changed settings; null restores a default. @param given value of a field; `undefined`: the form lacks it */
function changesOf(row: Row, given: (name: string) => string | undefined): Record<string, string | null> {
  const stored: Record<string, string> = {
    label: row.label ?? "",
    model: modelOf(row),
    execNode: row.execNode ?? "",
    ...Object.fromEntries(Object.keys(CHOICES).map((name) => [name, row[name as ChoiceName] ?? ""])),
  };
  return Object.fromEntries(
    Object.entries(stored).flatMap(([name, before]) => {
      const now = given(name);
      return now === undefined || now === before ? [] : [[name, now === "" ? null : now]];
    }),
  );
}

/** The chosen model; empty: the default. */
function modelOf({ modelOverride, providerOverride }: Row): string {
  if (modelOverride === undefined) return "";
  return providerOverride === undefined ? modelOverride : `${providerOverride}/${modelOverride}`;
}

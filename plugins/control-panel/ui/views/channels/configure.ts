/** Settings of an account: who may write, in which groups it listens, and its secrets, which can be replaced but not read. */
import { config } from "@svc/sdk/config";
import { html, nothing, type TemplateResult } from "lit";
import type { App } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { openDialog } from "../../parts/dialog.ts";
import { textOf } from "../../parts/form.ts";
import { failed, waiting } from "../../parts/show.ts";
import { toast } from "../../parts/toast.ts";

type Settings = Readonly<Record<string, unknown>>;

/** The settings of an account, as far as this form changes them. */
interface Loaded {
  readonly hash: string;
  readonly own: Settings;
  /** Those of the account, and those that it inherits. */
  readonly all: Settings;
  /** Keys of `channels.<id>`, and of the account below. */
  readonly path: readonly string[];
  /** Keys whose values are secret, with what they are. */
  readonly secrets: readonly { readonly key: string; readonly text: string; readonly isSet: boolean }[];
}

const DM_POLICIES = ["pairing", "allowlist", "open", "disabled"] as const;
const GROUP_POLICIES = ["allowlist", "open", "disabled"] as const;

const object = (value: unknown): Settings =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Settings) : {};
const at = (value: unknown, ...keys: readonly string[]): unknown =>
  keys.reduce((inner: unknown, key) => object(inner)[key], value);
const asText = (value: unknown) => (typeof value === "string" ? value : "");
const texts = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);
const lines = (text: string) =>
  [...new Set(text.split(/[\n,]/).map((line) => line.trim()))].filter((line) => line !== "");

async function load(app: App, channel: string, accountId: string): Promise<Loaded> {
  const [{ config: whole, hash }, { schema, uiHints }] = await Promise.all([
    app.call(config.get, {}),
    app.call(config.schema, {}),
  ]);
  const section = object(at(whole, "channels", channel));
  const accounts = object(section["accounts"]);
  const isNamed = accountId !== "default" || Object.hasOwn(accounts, accountId);
  const own = isNamed ? object(accounts[accountId]) : section;
  const all = { ...section, ...own };
  const known = object(at(schema, "properties", "channels", "properties", channel, "properties"));
  const secrets = Object.entries(known).flatMap(([key, field]) => {
    if (at(uiHints[`channels.${channel}.${key}`], "sensitive") !== true) return [];
    return [{ key, text: asText(at(field, "description")), isSet: all[key] !== undefined }];
  });
  const path = ["channels", channel, ...(isNamed ? ["accounts", accountId] : [])];
  return { hash, own, all, path, secrets };
}

/** The merge patch for what people changed; `undefined`: nothing. */
function patchOf({ own, all, path, secrets }: Loaded, data: FormData): object | undefined {
  const text = (name: string) => textOf(data, name);
  const change: Record<string, unknown> = {};
  const set = (key: string, value: unknown, before: unknown) => {
    if (JSON.stringify(value) !== JSON.stringify(before)) change[key] = value;
  };
  set("enabled", data.has("enabled"), all["enabled"] !== false);
  set("dmPolicy", text("dmPolicy"), all["dmPolicy"] ?? "pairing");
  set("allowFrom", lines(text("allowFrom")), texts(all["allowFrom"]));
  set("groupPolicy", text("groupPolicy"), all["groupPolicy"] ?? "allowlist");
  set("groupAllowFrom", lines(text("groupAllowFrom")), texts(all["groupAllowFrom"]));
  set("requireMention", data.has("requireMention"), all["requireMention"] !== false);
  const before = object(all["groups"]);
  const after = lines(text("groups"));
  const removed = Object.keys(before).filter((id) => !after.includes(id));
  if (removed.length > 0 || after.some((id) => !Object.hasOwn(before, id))) {
    // The account's own groups replace those that it inherits, so these are written, too. Settings of its own groups stay.
    const written = after.filter((id) => !Object.hasOwn(object(own["groups"]), id));
    change["groups"] = Object.fromEntries([
      ...written.map((id) => [id, before[id] ?? {}] as const),
      ...removed.map((id) => [id, null] as const), // null removes
    ]);
  }
  for (const { key } of secrets) {
    const value = text(`secret:${key}`).trim();
    if (value !== "") change[key] = value;
  }
  if (Object.keys(change).length === 0) return undefined;
  return path.reduceRight<object>((inner, key) => ({ [key]: inner }), change);
}

/** @returns whether something was changed */
export async function configure(app: App, channel: string, accountId: string, label: string): Promise<boolean> {
  let loaded: Loaded | undefined;
  const read = async () => {
    loaded = undefined;
    loaded = await load(app, channel, accountId);
  };
  const done = await openDialog<true>({
    title: t.channels.settingsOf(label),
    load: read,
    body: ({ close, run, isBusy, error }) => {
      const submit = async (event: SubmitEvent) => {
        event.preventDefault();
        const patch = loaded && patchOf(loaded, new FormData(event.target as HTMLFormElement));
        if (!patch || !loaded) return close();
        const change = { raw: JSON.stringify(patch), baseHash: loaded.hash };
        if (!(await run(() => app.call(config.patch, change)))) return;
        toast(t.channels.saved, "good");
        close(true);
      };
      return html`<form @submit=${submit}>
        <div class="content">
          ${loaded ? form(loaded) : error === undefined ? waiting() : nothing}
          ${error === undefined ? nothing : failed(error)}
        </div>
        <footer>
          ${error === undefined ? nothing : html`<button type="button" @click=${() => run(read)}>${t.channels.loadAgain}</button>`}
          <span class="fill"></span>
          <button type="button" @click=${() => close()}>${t.common.cancel}</button>
          <button class="primary" ?disabled=${!loaded || isBusy}>${t.common.save}</button>
        </footer>
      </form>`;
    },
  });
  return done === true;
}

function form({ all, secrets }: Loaded): TemplateResult {
  const { channels } = t;
  const select = (name: "dmPolicy" | "groupPolicy", words: readonly string[], fallback: string) => {
    const chosen = asText(all[name]) || fallback;
    const labels: Readonly<Record<string, string>> = channels[name];
    return html`<label class="field"
      ><span>${labels["label"]}</span>
      <select name=${name}>
        ${words.map((word) => html`<option value=${word} ?selected=${word === chosen}>${labels[word]}</option>`)}
      </select>
    </label>`;
  };
  const list = (name: string, label: string, hint: string, values: readonly string[]) =>
    html`<label class="field"
      ><span>${label}</span>
      <textarea name=${name} rows="3" spellcheck="false" .defaultValue=${values.join("\n")}></textarea>
      <small>${hint}</small>
    </label>`;
  return html`<label class="check"
      ><input type="checkbox" name="enabled" ?checked=${all["enabled"] !== false} /><span
        >${channels.enabled}</span
      ></label
    >
    ${secrets.map(
      ({ key, text, isSet }) =>
        html`<label class="field"
          ><span>${key}</span>
          <input
            type="password"
            name=${`secret:${key}`}
            autocomplete="new-password"
            placeholder=${isSet ? channels.secretSet : channels.secretMissing}
          />
          <small>${text === "" ? nothing : html`${text}. `}${channels.secretHint}</small>
        </label>`,
    )}
    <fieldset>
      <legend>${channels.directMessages}</legend>
      ${select("dmPolicy", DM_POLICIES, "pairing")}
      ${list("allowFrom", channels.allowFrom, channels.idsHint, texts(all["allowFrom"]))}
    </fieldset>
    <fieldset>
      <legend>${channels.groupsTitle}</legend>
      ${select("groupPolicy", GROUP_POLICIES, "allowlist")}
      ${list("groups", channels.groups, channels.groupsHint, Object.keys(object(all["groups"])))}
      ${list("groupAllowFrom", channels.groupAllowFrom, channels.groupAllowFromHint, texts(all["groupAllowFrom"]))}
      <label class="check"
        ><input type="checkbox" name="requireMention" ?checked=${all["requireMention"] !== false} /><span
          >${channels.requireMention}</span
        ></label
      >
    </fieldset>`;
}

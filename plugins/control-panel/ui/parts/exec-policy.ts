/** The rules for commands of a machine as a form: of the gateway, or of a node. Changes are based on the version that people saw. */
import type { Static } from "@svc/sdk";
import type { ExecPolicyFile, ExecPolicySnapshot } from "@svc/sdk/approvals";
import { html, nothing, type TemplateResult } from "lit";
import { live } from "lit/directives/live.js";
import { Plus, X } from "lucide";
import type { ViewContext } from "../core/app.ts";
import { t } from "../core/text.ts";
import { askFor, confirm } from "./dialog.ts";
import { icon } from "./icon.ts";
import { badge, empty, facts, failed, show } from "./show.ts";
import { toast } from "./toast.ts";
import { ago } from "./time.ts";
import "./form.css";

type Snapshot = Static<typeof ExecPolicySnapshot>;
type File = Static<typeof ExecPolicyFile>;
type Rules = NonNullable<File["defaults"]>;
type Agent = NonNullable<File["agents"]>[string];
type Entry = NonNullable<Agent["allowlist"]>[number];

/** Values of the rules, strictest first; the first one is the built-in. Spec: README of the plugin approvals. */
const WORDS = {
  security: ["deny", "allowlist", "full"],
  ask: ["on-miss", "always", "off"],
  askFallback: ["deny", "allowlist", "full"],
} as const;
type Word = keyof typeof WORDS;

export interface ExecPolicySource {
  load(): Promise<Snapshot>;
  /** @returns the new version; `undefined`: it has to be loaded */
  save(file: File, baseHash: string): Promise<Snapshot | undefined>;
}

/** @returns what draws the form */
export function execPolicy(
  context: Pick<ViewContext, "resource" | "redraw">,
  { load, save }: ExecPolicySource,
): { render(): TemplateResult } {
  /** The version on which the edits are based, and the edited file. */
  let base: Snapshot | undefined;
  let draft: File | undefined;
  let error: unknown;
  let isBusy = false;
  const current = context.resource(load);

  const file = () => draft ?? current.value?.file ?? { version: 1 as const };
  const edit = (change: (file: File) => void) => {
    if (!draft) base = current.value;
    const copy = structuredClone(file());
    change(copy);
    draft = copy;
    context.redraw();
  };
  const discard = async () => {
    await current.reload();
    draft = undefined;
    error = undefined;
    context.redraw();
  };
  const store = async () => {
    if (!draft || !base) return;
    isBusy = true;
    error = undefined;
    context.redraw();
    try {
      const saved = await save(draft, base.hash);
      draft = undefined;
      if (saved) current.set(saved);
      else await current.reload();
      toast(t.approvals.rules.saved, "good");
    } catch (failure) {
      error = failure;
    }
    isBusy = false;
    context.redraw();
  };

  function setRule(rules: Rules, key: Word, value: string): void {
    if (value === "") delete rules[key];
    else rules[key] = value;
  }

  function rulesForm(rules: Rules, inherits: boolean, change: (work: (rules: Rules) => void) => void): TemplateResult {
    const select = (key: Word) => {
      const texts = t.approvals.rules[key];
      const chosen = rules[key] ?? "";
      const words: readonly string[] = WORDS[key];
      return html`<label class="field">
        <span>${texts.label}</span>
        <select
          .value=${live(chosen)}
          @change=${(event: Event) => change((one) => setRule(one, key, (event.target as HTMLSelectElement).value))}
        >
          <option value="" ?selected=${chosen === ""}>
            ${inherits ? t.approvals.rules.inherit : t.approvals.rules.builtIn(texts[WORDS[key][0] as never])}
          </option>
          ${words.map((word) => html`<option value=${word} ?selected=${word === chosen}>${texts[word as never]}</option>`)}
          ${chosen === "" || words.includes(chosen) ? nothing : html`<option value=${chosen} selected>${chosen}</option>`}
        </select>
      </label>`;
    };
    return html`<div class="grid">${select("security")}${select("ask")}${select("askFallback")}</div>
      ${rules.security === "full" ? html`<div class="notice warning"><p>${t.approvals.rules.fullWarning}</p></div>` : nothing}
      <label class="check">
        <input
          type="checkbox"
          .checked=${live(rules.autoAllowSkills === true)}
          @change=${(event: Event) => {
            const { checked } = event.target as HTMLInputElement;
            change((one) => void (one.autoAllowSkills = checked));
          }}
        />
        <span>${t.approvals.rules.skills}</span>
      </label>`;
  }

  const editAgent = (id: string, work: (agent: Agent) => void) =>
    edit((changed) => {
      changed.agents ??= {};
      work((changed.agents[id] ??= {}));
    });

  async function addAgent(): Promise<void> {
    const values = await askFor({
      title: t.approvals.rules.addAgent,
      fields: [{ name: "id", label: t.approvals.rules.agentId, hint: t.approvals.rules.agentHint, isRequired: true }],
      action: t.approvals.rules.add,
    });
    const id = values?.["id"]?.trim();
    if (id) editAgent(id, () => undefined);
  }

  async function addEntry(id: string): Promise<void> {
    const { rules } = t.approvals;
    const values = await askFor({
      title: rules.addProgram,
      fields: [
        {
          name: "pattern",
          label: rules.program,
          hint: rules.programHint,
          placeholder: "/usr/bin/rg",
          isRequired: true,
        },
        {
          name: "kind",
          label: rules.arguments,
          choices: [
            ["profile", rules.profile],
            ["exact", rules.exact],
            ["any", rules.any],
          ],
        },
        { name: "args", label: rules.exactArguments, hint: rules.exactHint, kind: "multiline" },
        { name: "cwd", label: rules.cwd, hint: rules.cwdHint },
      ],
      action: rules.add,
    });
    if (!values) return;
    const { pattern = "", kind, args = "", cwd = "" } = values;
    const entry: Entry = {
      pattern: pattern.trim(),
      ...(kind === "exact" ? { args: args.split("\n").filter((line) => line !== "") } : {}),
      ...(kind === "any" ? { anyArguments: true } : {}),
      ...(cwd.trim() === "" ? {} : { cwd: cwd.trim() }),
    };
    editAgent(id, (agent) => void (agent.allowlist = [...(agent.allowlist ?? []), entry]));
  }

  async function dropAgent(id: string): Promise<void> {
    const isSure = await confirm({
      title: t.approvals.rules.removeAgent(id),
      action: t.common.delete,
      isDangerous: true,
    });
    if (isSure) edit(({ agents }) => void delete agents?.[id]);
  }

  function drawAgent([id, agent]: [string, Agent]): TemplateResult {
    const { rules } = t.approvals;
    const { allowlist = [] } = agent;
    return html`<fieldset>
      <legend>${id === "*" ? rules.allAgents : rules.agent(id)}</legend>
      ${rulesForm(agent, true, (work) => editAgent(id, work))}
      ${
        allowlist.length === 0
          ? html`<p class="quiet">${rules.noPrograms}</p>`
          : html`<ul class="plain-list entries">
              ${allowlist.map((entry, index) => drawEntry(id, entry, index))}
            </ul>`
      }
      <div class="actions">
        <button type="button" @click=${() => addEntry(id)}>${icon(Plus)}${rules.addProgram}</button>
        <button type="button" class="danger" @click=${() => dropAgent(id)}>${rules.removeRules}</button>
      </div>
    </fieldset>`;
  }

  function drawEntry(id: string, entry: Entry, index: number): TemplateResult {
    const { rules } = t.approvals;
    const { pattern, args, cwd, anyArguments = false, sha256, lastUsedAt, lastUsedCommand } = entry;
    const remove = () => editAgent(id, ({ allowlist = [] }) => void allowlist.splice(index, 1));
    return html`<li class="entry">
      <div>
        <code class="break">${pattern}</code>
        ${facts([
          [
            rules.arguments,
            anyArguments
              ? badge(rules.any, "warning")
              : args
                ? html`<code>${args.length === 0 ? rules.noArguments : args.join(" ")}</code>`
                : rules.profile,
          ],
          [rules.cwd, cwd && html`<code>${cwd}</code>`],
          ["SHA-256", sha256 && html`<code>${sha256}</code>`],
          [t.approvals.used, lastUsedAt && html`${ago(lastUsedAt)} <code>${lastUsedCommand ?? ""}</code>`],
        ])}
      </div>
      <button type="button" class="plain" aria-label=${rules.removeProgram(pattern)} @click=${remove}>
        ${icon(X)}
      </button>
    </li>`;
  }

  return {
    render: () =>
      show(current, ({ path, hash }) => {
        const { defaults = {}, agents = {} } = file();
        const { rules } = t.approvals;
        const entries = Object.entries(agents);
        return html`<div class="column policy">
          <p class="quiet break">
            ${rules.text} <code>${path}</code> <small title=${hash}>${hash.slice(0, 12)}</small>
          </p>
          <fieldset>
            <legend>${rules.defaults}</legend>
            ${rulesForm(defaults, false, (work) => edit((changed) => work((changed.defaults ??= {}))))}
          </fieldset>
          ${entries.length === 0 ? empty(rules.noAgents, rules.noAgentsText) : entries.map(drawAgent)}
          ${error === undefined ? nothing : failed(error)}
          <div class="actions">
            <button type="button" @click=${addAgent}>${icon(Plus)}${rules.addAgent}</button>
            <span class="fill"></span>
            ${
              draft
                ? html`<button type="button" @click=${discard}>
                    ${error === undefined ? rules.discard : rules.loadAgain}
                  </button>`
                : nothing
            }
            <button type="button" class="primary" ?disabled=${!draft || isBusy} @click=${store}>
              ${t.common.save}
            </button>
          </div>
        </div>`;
      }),
  };
}

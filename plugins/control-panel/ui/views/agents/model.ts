/** Tab: the model of the agent and its fallbacks, and the default of all agents. */
import { models } from "@svc/sdk/models";
import type { ResultOf } from "@svc/sdk";
import { html, nothing, type TemplateResult } from "lit";
import { ArrowDown, ArrowUp, X } from "lucide";
import { t } from "../../core/text.ts";
import { icon } from "../../parts/icon.ts";
import { badge, show, type Tone } from "../../parts/show.ts";
import { absolute } from "../../parts/time.ts";
import { createDraft } from "./draft.ts";
import {
  type AgentTab,
  entryOf,
  type ModelSetting,
  patchAgent,
  patchDefaults,
  refsOf,
  type Settings,
} from "./entries.ts";

type Models = ResultOf<typeof models.list>["models"];
type Status = ResultOf<typeof models.status>;

export function modelTab({ context, id, settings, reload }: AgentTab): () => TemplateResult {
  const mayChange = context.may("operator.admin");
  const known = context.resource(
    async () => {
      const [{ models: list }, status] = await Promise.all([
        context.call(models.list, {}),
        context.call(models.status, {}),
      ]);
      return { list, status };
    },
    { everyMs: 30_000 },
  );

  const write = (refs: readonly string[]): ModelSetting | null => {
    const [primary, ...fallbacks] = refs;
    return primary === undefined ? null : { primary, fallbacks };
  };
  const own = editor({
    title: () => t.agents.modelOwn,
    text: () => t.agents.modelOwnText,
    stored: () => refsOf(entryOf(settings(), id)?.model),
    unset: (status) => t.agents.inherit(refsOf(settings().defaultModel)[0] ?? status.default ?? t.common.none),
    save: (refs, base) => patchAgent(context, base, id, { model: write(refs) }),
  });
  const defaults = editor({
    title: () => t.agents.modelDefaults,
    text: () => t.agents.modelDefaultsText,
    stored: () => refsOf(settings().defaultModel),
    unset: (status) => `${t.agents.builtIn}${status.default === undefined ? "" : `: ${status.default}`}`,
    save: (refs, base) => patchDefaults(context, base, { model: write(refs) }),
  });

  interface EditorOptions {
    readonly title: () => string;
    readonly text: () => string;
    /** References in order; empty: none is set here. */
    readonly stored: () => readonly string[];
    /** What holds if nothing is set here. */
    readonly unset: (status: Status) => string;
    readonly save: (refs: readonly string[], base: Settings) => Promise<void>;
  }

  function editor({ title, text, stored, unset, save }: EditorOptions) {
    const draft = createDraft({ context, settings, stored, save, reload });
    return ({ list, status }: { readonly list: Models; readonly status: Status }): TemplateResult => {
      const refs = draft.value();
      const [primary, ...fallbacks] = refs;
      const names = [...new Set([...list.map(refOf), ...status.aliases.map(({ alias }) => alias)])];
      const options = (selected: string | undefined) =>
        names.includes(selected ?? "") || selected === undefined ? names : [selected, ...names];
      const move = (from: number, to: number) => {
        const next = [...fallbacks];
        next.splice(to, 0, ...next.splice(from, 1));
        draft.change([primary ?? "", ...next]);
      };
      return html`<section class="card">
        <header><h2>${title()}</h2></header>
        <p class="quiet">${text()}</p>
        <label class="field"
          ><span>${t.agents.primary}</span>
          <select
            ?disabled=${!mayChange}
            @change=${(event: Event) => {
              const { value } = event.target as HTMLSelectElement;
              draft.change(value === "" ? [] : [value, ...fallbacks.filter((ref) => ref !== value)]);
            }}
          >
            <option value="" .selected=${primary === undefined}>${unset(status)}</option>
            ${options(primary).map((ref) => html`<option value=${ref} .selected=${ref === primary}>${ref}</option>`)}
          </select>
        </label>
        ${primary === undefined ? nothing : html`<p>${stateOf(primary, list, status)}</p>`}
        ${
          primary === undefined
            ? nothing
            : html`<div class="field">
                <span>${t.agents.fallbacks}</span>
                <small>${t.agents.fallbacksText}</small>
                <ol class="order">
                  ${fallbacks.map(
                    (ref, index) =>
                      html`<li>
                        <span class="mono break">${ref}</span> ${stateOf(ref, list, status)}
                        <span class="fill"></span>
                        ${
                          mayChange
                            ? html`<button
                                  class="plain"
                                  aria-label=${t.agents.up(ref)}
                                  ?disabled=${index === 0}
                                  @click=${() => move(index, index - 1)}
                                >
                                  ${icon(ArrowUp)}
                                </button>
                                <button
                                  class="plain"
                                  aria-label=${t.agents.down(ref)}
                                  ?disabled=${index === fallbacks.length - 1}
                                  @click=${() => move(index, index + 1)}
                                >
                                  ${icon(ArrowDown)}
                                </button>
                                <button
                                  class="plain"
                                  aria-label=${t.agents.remove(ref)}
                                  @click=${() => draft.change(refs.filter((_, at) => at !== index + 1))}
                                >
                                  ${icon(X)}
                                </button>`
                            : nothing
                        }
                      </li>`,
                  )}
                </ol>
                ${
                  mayChange
                    ? html`<select
                        aria-label=${t.agents.addFallback}
                        @change=${(event: Event) => {
                          const select = event.target as HTMLSelectElement;
                          if (select.value !== "") draft.change([...refs, select.value]);
                          select.value = "";
                        }}
                      >
                        <option value="">${t.agents.addFallback}</option>
                        ${names
                          .filter((ref) => !refs.includes(ref))
                          .map((ref) => html`<option value=${ref}>${ref}</option>`)}
                      </select>`
                    : nothing
                }
              </div>`
        }
        ${mayChange ? draft.bar() : nothing}
      </section>`;
    };
  }

  return () =>
    show(
      known,
      (all) =>
        html`<div class="pair">${own(all)}${defaults(all)}</div>
          ${accounts(all.status)}`,
    );
}

function refOf({ provider, id }: Models[number]): string {
  return `${provider}/${id}`;
}

/** Whether a reference can answer now. */
function stateOf(ref: string, list: Models, { aliases, providers }: Status): TemplateResult {
  const full = aliases.find(({ alias }) => alias.toLowerCase() === ref.toLowerCase())?.model ?? ref;
  const model = list.find((one) => refOf(one) === full || one.id === full);
  if (!model) return badge(t.agents.notUsable, "bad");
  const provider = providers.find(({ name }) => name === model.provider);
  const isCooling = provider?.accounts.every(({ coolingUntil = 0 }) => coolingUntil > Date.now()) === true;
  return isCooling && provider.accounts.length > 0
    ? badge(t.agents.cooling, "warning")
    : badge(t.agents.usable, "good");
}

function accounts({ providers }: Status): TemplateResult | typeof nothing {
  if (providers.length === 0) return nothing;
  const state = (account: Status["providers"][number]["accounts"][number]): readonly [string, Tone] => {
    const { coolingUntil = 0, hasKey } = account;
    if (coolingUntil > Date.now()) return [`${t.agents.cooling} → ${absolute(coolingUntil)}`, "warning"];
    return hasKey ? [t.agents.usable, "good"] : [t.agents.noKey, "neutral"];
  };
  return html`<details class="card">
    <summary>${t.agents.accounts}</summary>
    <dl class="facts">
      ${providers.map(
        ({ name, usable, accounts: all }) =>
          html`<dt class="break">${name}</dt>
            <dd class="line">
              ${usable ? nothing : badge(t.agents.notUsable, "bad")}
              ${all.map((account) => html`<span>${account.name} ${badge(...state(account))}</span>`)}
            </dd>`,
      )}
    </dl>
  </details>`;
}

/** Tab: which tools the agent may use, and why not; its rules. */
import type { ResultOf } from "@svc/sdk";
import { models } from "@svc/sdk/models";
import { tools } from "@svc/sdk/tools";
import { html, nothing, type TemplateResult } from "lit";
import { Pencil } from "lucide";
import { t } from "../../core/text.ts";
import { askFor } from "../../parts/dialog.ts";
import { icon } from "../../parts/icon.ts";
import { badge, facts, show } from "../../parts/show.ts";
import { createDraft } from "./draft.ts";
import { type AgentTab, entryOf, patchAgent, refsOf, type ToolRules } from "./entries.ts";

type Tool = ResultOf<typeof tools.catalog>["groups"][number]["tools"][number];

const LISTS = ["allow", "alsoAllow", "deny"] as const;

export function toolsTab({ context, id, settings, reload, name }: AgentTab): () => TemplateResult {
  const mayChange = context.may("operator.admin");
  let isFiltered = false;
  const catalog = context.resource(
    async () => {
      const model = await modelOf();
      return context.call(tools.catalog, { agentId: id, verdicts: true, ...(model === undefined ? {} : { model }) });
    },
    { everyMs: 60_000 },
  );

  /** The model that answers first: rules may name it. */
  async function modelOf(): Promise<string | undefined> {
    const [first] = refsOf(entryOf(settings(), id)?.model ?? settings().defaultModel);
    if (!context.serves(models.list)) return undefined;
    const asked = first === undefined ? {} : { model: first };
    const { resolved, default: usual } = await context
      .call(models.status, asked)
      .catch(() => context.call(models.status, {}));
    return resolved ?? usual;
  }

  const draft = createDraft<ToolRules>({
    context,
    settings,
    stored: () => entryOf(settings(), id)?.tools ?? {},
    save: (rules, base) => patchAgent(context, base, id, { tools: patchOf(rules) }),
    reload: async () => {
      await reload();
      await catalog.reload();
    },
  });

  const edit = async () => {
    const own = draft.value();
    const values = await askFor({
      title: `${t.agents.rulesEdit}: ${name()}`,
      text: html`<p class="quiet">${t.agents.rulesHint}</p>`,
      fields: [
        {
          name: "profile",
          label: t.agents.profile,
          value: own.profile ?? "",
          choices: [
            ["", t.agents.profileNone],
            ...(catalog.value?.profiles ?? []).map(({ id: profile }) => [profile, profile] as const),
          ],
        },
        ...LISTS.map((list) => ({
          name: list,
          label: t.agents[list],
          value: (own[list] ?? []).join("\n"),
          kind: "multiline" as const,
        })),
      ],
      action: t.agents.takeRules,
    });
    if (!values) return;
    const lists = LISTS.map((list) => [list, (values[list] ?? "").split(/\s*[\n,]\s*/).filter(Boolean)]);
    draft.change({ ...(values["profile"] && { profile: values["profile"] }), ...Object.fromEntries(lists) });
  };

  const action = (tool: Tool): TemplateResult | typeof nothing => {
    const { verdict } = tool;
    if (!mayChange || !verdict) return nothing;
    const rules = draft.value();
    const { deny = [], alsoAllow = [], allow = [] } = rules;
    const button = (text: string, label: string, change: ToolRules) =>
      html`<button class="plain" aria-label=${label} @click=${() => draft.change({ ...rules, ...change })}>
        ${text}
      </button>`;
    if (deny.includes(tool.id))
      return button(t.agents.lift, t.agents.undeny(tool.id), { deny: deny.filter((one) => one !== tool.id) });
    if (alsoAllow.includes(tool.id) && !verdict.allowed)
      return button(t.agents.undo, t.agents.undoAllow(tool.id), {
        alsoAllow: alsoAllow.filter((one) => one !== tool.id),
      });
    if (verdict.allowed) return button(t.agents.deny, t.agents.denyTool(tool.id), { deny: [...deny, tool.id] });
    if (!["optional", "profile", "provider profile", "agent"].includes(verdict.step ?? "")) return nothing;
    // `alsoAllow` of the agent replaces that of all agents for the profile, so those names stay.
    const also = alsoAllow.length > 0 || allow.length > 0 ? alsoAllow : (settings().tools.alsoAllow ?? []);
    return button(t.agents.allowAction, t.agents.allowTool(tool.id), { alsoAllow: [...also, tool.id] });
  };

  const row = (tool: Tool): TemplateResult => {
    const { verdict } = tool;
    return html`<li class="tool">
      <div class="what">
        <strong class="mono break">${tool.id}</strong>
        <small class="clamp">${tool.description}</small>
        ${
          verdict?.allowed === false
            ? html`<small class="why">${t.agents.why[verdict.step ?? ""] ?? verdict.why}</small>`
            : nothing
        }
      </div>
      ${
        verdict === undefined
          ? nothing
          : verdict.allowed
            ? badge(t.agents.allowed, "good")
            : badge(t.agents.notAllowed, "bad")
      }
      ${action(tool)}
    </li>`;
  };

  const rules = (own: ToolRules) => {
    const lines = [
      [t.agents.profile, own.profile],
      ...LISTS.map((list) => [t.agents[list], own[list]?.join(", ")] as const),
    ] as const;
    const isEmpty = lines.every(([, value]) => value === undefined || value === "");
    return isEmpty ? html`<p class="quiet">${t.agents.noRules}</p>` : facts(lines);
  };

  return () =>
    html`<div class="pair">
        <section class="card">
          <header>
            <h2>${t.agents.rules}: ${t.agents.rulesAgent}</h2>
            <span class="fill"></span>
            ${mayChange ? html`<button @click=${edit}>${icon(Pencil)}${t.agents.rulesEdit}</button>` : nothing}
          </header>
          ${rules(draft.value())} ${draft.bar(true)}
        </section>
        <section class="card">
          <header><h2>${t.agents.rules}: ${t.agents.rulesGateway}</h2></header>
          ${rules(settings().tools)}
        </section>
      </div>
      ${show(catalog, ({ groups }) => {
        const all = groups.flatMap((group) => group.tools);
        const isShown = ({ verdict }: Tool) => !isFiltered || verdict?.allowed === false;
        return html`<div class="line">
            <span role="status"
              >${t.agents.toolCount(all.filter(({ verdict }) => verdict?.allowed === true).length, all.length)}</span
            >
            <label class="check"
              ><input
                type="checkbox"
                .checked=${isFiltered}
                @change=${(event: Event) => {
                  isFiltered = (event.target as HTMLInputElement).checked;
                  context.redraw();
                }}
              />${t.agents.onlyNotAllowed}</label
            >
          </div>
          ${groups
            .filter((group) => group.tools.some(isShown))
            .map(
              (group) =>
                html`<section class="card">
                  <header>
                    <h2>${group.label}</h2>
                    ${group.pluginId === undefined ? nothing : html`<small>${t.agents.ofPlugin(group.pluginId)}</small>`}
                  </header>
                  <ul class="tools">
                    ${group.tools.filter(isShown).map(row)}
                  </ul>
                </section>`,
            )}`;
      })}`;
}

/** As a merge patch: absent and empty ones are removed. */
function patchOf({ profile, ...lists }: ToolRules): Readonly<Record<string, unknown>> {
  const written = LISTS.map((list) => [list, (lists[list]?.length ?? 0) > 0 ? lists[list] : null]);
  return { profile: profile ?? null, ...Object.fromEntries(written) };
}

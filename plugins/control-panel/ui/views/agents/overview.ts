/** Tab: who the agent is. */
import { agents } from "@svc/sdk/agents";
import { html, nothing, type TemplateResult } from "lit";
import { Pencil, Trash2 } from "lucide";
import { t } from "../../core/text.ts";
import { askFor, confirm } from "../../parts/dialog.ts";
import { icon } from "../../parts/icon.ts";
import { badge, facts as rows } from "../../parts/show.ts";
import { toast } from "../../parts/toast.ts";
import { type AgentTab, entryOf, refsOf } from "./entries.ts";

export function overviewTab(tab: AgentTab): () => TemplateResult {
  const { context, id, settings, reload, facts } = tab;

  const edit = async () => {
    const { row, workspace } = facts();
    const former = {
      name: row.name ?? "",
      emoji: row.identity?.emoji ?? "",
      theme: row.identity?.theme ?? "",
      avatar: row.identity?.avatar ?? "",
      workspace,
    };
    type Key = keyof typeof former;
    const values = await askFor({
      title: t.agents.editTitle(tab.name()),
      fields: [
        { name: "name", label: t.agents.name, value: former.name, placeholder: tab.name() },
        { name: "emoji", label: t.agents.emoji, value: former.emoji },
        { name: "theme", label: t.agents.theme, value: former.theme, hint: t.agents.themeHint },
        { name: "avatar", label: t.agents.avatar, value: former.avatar, hint: t.agents.avatarHint },
        { name: "workspace", label: t.agents.workspace, value: workspace, hint: t.agents.workspaceMoves },
      ],
      action: t.common.save,
      work: async (given) => {
        const mayBeBlank: readonly string[] = ["emoji", "theme"];
        const changed = (Object.keys(former) as Key[]).filter((key) => {
          const value = (given[key] ?? "").trim();
          return value !== former[key] && (value !== "" || mayBeBlank.includes(key));
        });
        const change = Object.fromEntries(changed.map((key) => [key, (given[key] ?? "").trim()]));
        if (changed.length > 0) await context.call(agents.update, { agentId: id, ...change });
      },
    });
    if (values) await reload();
  };

  const remove = async () => {
    let deleteFiles = true;
    let kept: readonly string[] = [];
    const name = tab.name();
    const isDone = await confirm({
      title: t.agents.deleteTitle(name),
      text: html`<p>${t.agents.deleteText}</p>
        <label class="check"
          ><input
            type="checkbox"
            checked
            @change=${(event: Event) => (deleteFiles = (event.target as HTMLInputElement).checked)}
          />${t.agents.deleteFiles}</label
        >`,
      action: t.common.delete,
      isDangerous: true,
      work: async () => {
        const result = await context.call(agents.delete, { agentId: id, deleteFiles });
        kept = result.kept ?? [];
      },
    });
    if (!isDone) return;
    context.go("agents", {}, { replace: true });
    toast(t.agents.deleted(name), "good");
    if (kept.length > 0)
      await confirm({
        title: t.agents.deleted(name),
        text: html`<p>${t.agents.kept}</p>
          <ul>
            ${kept.map((one) => html`<li class="break">${one}</li>`)}
          </ul>`,
        action: t.common.close,
      });
  };

  return () => {
    const { row, isDefault, workspace } = facts();
    const entry = entryOf(settings(), row.id);
    const { defaultModel, tools } = settings();
    const [model, ...fallbacks] = refsOf(entry?.model ?? defaultModel);
    const shown = (value: string | undefined, isOwn: boolean) =>
      value === undefined || isOwn ? (value ?? t.agents.inheritedNone) : t.agents.inherited(value);
    return html`<section class="card">
      ${rows([
        [
          t.agents.id,
          html`<span class="mono">${row.id}</span> ${isDefault ? badge(t.agents.isDefault, "accent") : nothing}`,
        ],
        [t.agents.name, tab.name()],
        [t.agents.emoji, row.identity?.emoji],
        [t.agents.theme, row.identity?.theme],
        [t.agents.avatar, row.identity?.avatar?.slice(0, 200)],
        [t.agents.workspace, html`<span class="mono">${workspace}</span>`],
        [t.agents.model, shown(model, entry?.model !== undefined)],
        [t.agents.fallbacks, fallbacks.join(", ")],
        [
          t.agents.profile,
          shown(entry?.tools?.profile ?? tools.profile ?? "full", entry?.tools?.profile !== undefined),
        ],
        [
          t.agents.tabs.skills,
          entry?.skills === undefined ? t.agents.allSkills : entry.skills.join(", ") || t.common.none,
        ],
      ])}
      <div class="actions">
        ${
          context.may("operator.admin")
            ? html`<button @click=${edit}>${icon(Pencil)}${t.agents.edit}</button> ${
                  row.id === "main"
                    ? nothing
                    : html`<button class="danger" @click=${remove}>${icon(Trash2)}${t.agents.delete}</button>`
                }`
            : nothing
        }
      </div>
    </section>`;
  };
}

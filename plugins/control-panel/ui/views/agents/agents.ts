/** Agents: who they are, and for each one its files, models, tools, skills, prompt and conversations. */
import { agents } from "@svc/sdk/agents";
import { html, nothing, type TemplateResult } from "lit";
import { Plus } from "lucide";
import { hrefOf } from "../../core/address.ts";
import type { OpenView } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { askFor } from "../../parts/dialog.ts";
import { icon } from "../../parts/icon.ts";
import { badge, show } from "../../parts/show.ts";
import { avatarOf, nameOf } from "./avatar.ts";
import { createDetail, type Detail } from "./detail.ts";
import { type AgentRow, entryOf, isConfigured, loadSettings, refsOf, type Settings } from "./entries.ts";
import "./agents.css";

const RELOAD_MS = 30_000;

export default ((context) => {
  const list = context.resource(
    async () => {
      const [all, settings] = await Promise.all([context.call(agents.list, {}), loadSettings(context)]);
      return { ...all, settings };
    },
    { everyMs: RELOAD_MS },
  );
  let detail: Detail | undefined;

  const create = async () => {
    const besideDefault = async (name: string) => {
      const { defaultId = "main" } = list.value ?? {};
      const { workspace } = await context.call(agents.filesList, { agentId: defaultId });
      return `${workspace.replace(/\/[^/]*$/, "")}/workspace-${name.toLowerCase().replace(/[^a-z0-9]+/g, "-")}`;
    };
    let created = "";
    const done = await askFor({
      title: t.agents.create,
      fields: [
        { name: "name", label: t.agents.name, hint: t.agents.nameHint, isRequired: true },
        { name: "emoji", label: t.agents.emoji },
        { name: "workspace", label: t.agents.workspace, hint: t.agents.workspaceHint },
      ],
      action: t.agents.create,
      work: async ({ name = "", emoji = "", workspace: wanted = "" }) => {
        const params = { name, workspace: wanted.trim() || (await besideDefault(name.trim())) };
        const result = await context.call(agents.create, { ...params, ...(emoji.trim() && { emoji: emoji.trim() }) });
        created = result.agentId;
      },
    });
    if (!done) return;
    await list.reload();
    context.go("agents", { agent: created });
  };

  const card = (row: AgentRow, isDefault: boolean, settings: Settings): TemplateResult => {
    const { id } = row;
    const name = nameOf(row);
    const [model] = refsOf(entryOf(settings, id)?.model ?? settings.defaultModel);
    const isListed = isConfigured(settings, id);
    return html`<article class="card agent">
      <header>
        ${avatarOf(row)}
        <div class="who">
          <h2 class="ellipsis">${isListed ? html`<a href=${hrefOf("agents", { agent: id })}>${name}</a>` : name}</h2>
          <span class="quiet mono ellipsis">${id}</span>
        </div>
        ${isDefault ? badge(t.agents.isDefault, "accent") : nothing}
        ${isListed ? nothing : badge(t.agents.unlisted, "warning")}
      </header>
      ${row.identity?.theme === undefined ? nothing : html`<p class="break">${row.identity.theme}</p>`}
      ${
        isListed
          ? html`<p class="quiet ellipsis">${t.agents.model}: ${model ?? t.agents.builtIn}</p>`
          : html`<p class="quiet">${t.agents.unlistedText}</p>`
      }
    </article>`;
  };

  const overview = () =>
    html`<div class="view">
      <header>
        <h1>${t.agents.title}</h1>
        <span class="fill"></span>
        ${
          context.may("operator.admin")
            ? html`<button class="primary" @click=${create}>${icon(Plus)}${t.agents.create}</button>`
            : nothing
        }
      </header>
      ${show(
        list,
        ({ agents: rows, defaultId, settings }) =>
          html`<div class="grid">${rows.map((row) => card(row, row.id === defaultId, settings))}</div>`,
      )}
    </div>`;

  return {
    render() {
      const id = context.place.params.get("agent");
      if (detail && detail.id !== id) {
        detail.close();
        detail = undefined;
        void list.reload();
      }
      if (id === null) return overview();
      detail ??= createDetail(context, id);
      return detail.render();
    },
  };
}) satisfies OpenView;

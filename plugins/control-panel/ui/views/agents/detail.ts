/** One agent, with a tab for each of its sides. */
import { agents } from "@svc/sdk/agents";
import { html, type TemplateResult } from "lit";
import { ArrowLeft } from "lucide";
import { hrefOf } from "../../core/address.ts";
import { contextFor, type ViewContext } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { icon } from "../../parts/icon.ts";
import { show } from "../../parts/show.ts";
import { tabs } from "../../parts/tabs.ts";
import { avatarOf, nameOf } from "./avatar.ts";
import { type AgentTab, loadSettings } from "./entries.ts";
import { filesTab } from "./files.ts";
import { modelTab } from "./model.ts";
import { overviewTab } from "./overview.ts";
import { promptTab } from "./prompt.ts";
import { sessionsTab } from "./sessions.ts";
import { skillsTab } from "./skills.ts";
import { toolsTab } from "./tools.ts";

export interface Detail {
  readonly id: string;
  render(): TemplateResult;
  /** Ends everything that it started. */
  close(): void;
}

const TABS = {
  overview: overviewTab,
  files: filesTab,
  model: modelTab,
  tools: toolsTab,
  skills: skillsTab,
  prompt: promptTab,
  sessions: sessionsTab,
} satisfies Record<string, (tab: AgentTab) => () => TemplateResult>;
type TabId = keyof typeof TABS;

const NEEDS: Partial<Record<TabId, string>> = {
  tools: "tools.catalog",
  skills: "skills.status",
  sessions: "sessions.list",
  model: "models.list",
};

export function createDetail(parent: ViewContext, id: string): Detail {
  const ended = new AbortController();
  parent.signal.addEventListener("abort", () => ended.abort(), { once: true, signal: ended.signal });
  const context = contextFor(parent, ended.signal);
  const facts = context.resource(
    async () => {
      const [list, files, settings] = await Promise.all([
        context.call(agents.list, {}),
        context.call(agents.filesList, { agentId: id }),
        loadSettings(context),
      ]);
      const { agentId, workspace } = files;
      const unlisted = { id: agentId, kind: "agent" as const, workspace };
      const row = list.agents.find((agent) => agent.id === agentId) ?? unlisted;
      return { row, isDefault: list.defaultId === row.id, workspace, files: files.files, settings };
    },
    { everyMs: 30_000 },
  );
  const loaded = () => {
    if (!facts.value) throw new Error("a tab is drawn before its agent is loaded");
    return facts.value;
  };
  const tab = {
    context,
    id,
    name: () => nameOf(loaded().row),
    settings: () => loaded().settings,
    facts: loaded,
    reload: () => facts.reload(),
  };
  /** Tabs that were opened: they keep their state while others are shown. */
  const opened = new Map<TabId, () => TemplateResult>();

  function content(shown: TabId): TemplateResult {
    const draw = opened.get(shown) ?? TABS[shown](tab);
    opened.set(shown, draw);
    return draw();
  }

  return {
    id,
    close: () => ended.abort(),
    render() {
      const wanted = context.place.params.get("tab") ?? "overview";
      const offered = (Object.keys(TABS) as TabId[]).filter((one) => {
        const method = NEEDS[one];
        return method === undefined || context.serves(method);
      });
      const selected = offered.find((one) => one === wanted) ?? "overview";
      return html`<div class="view">
        <a class="back" href=${hrefOf("agents")}>${icon(ArrowLeft)}${t.agents.all}</a>
        ${show(
          facts,
          ({ row }) =>
            html`<header>
                ${avatarOf(row)}
                <h1 class="break">${nameOf(row)}</h1>
              </header>
              ${tabs({
                label: nameOf(row),
                tabs: offered.map((one) => [one, t.agents.tabs[one]] as const),
                selected,
                select: (next) =>
                  context.go("agents", { agent: id, tab: next === "overview" ? undefined : next }, { replace: true }),
                content: () => content(selected),
              })}`,
        )}
      </div>`;
    },
  };
}

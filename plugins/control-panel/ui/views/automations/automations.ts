/** Work that starts by itself: jobs at set times, and webhooks of other programs. */
import { cron } from "@svc/sdk/cron";
import { webhooks } from "@svc/sdk/webhooks";
import { html, type TemplateResult } from "lit";
import type { OpenView } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { empty } from "../../parts/show.ts";
import { tabs } from "../../parts/tabs.ts";
import { createJobs } from "./jobs.ts";
import { createWebhooks } from "./webhooks.ts";
import "./automations.css";

const TABS = ["jobs", "webhooks"] as const;
type Tab = (typeof TABS)[number];

export default ((context) => {
  const serves: Readonly<Record<Tab, boolean>> = {
    jobs: context.serves(cron.list),
    webhooks: context.serves(webhooks.list),
  };
  const shown = (): Tab => {
    const wanted = context.place.params.get("tab");
    return TABS.find((tab) => tab === wanted) ?? (serves.jobs ? "jobs" : "webhooks");
  };
  // Each tab loads its data when people open it.
  const opened: Partial<Record<Tab, { render(): TemplateResult }>> = {};
  const open = (tab: Tab) => (opened[tab] ??= tab === "jobs" ? createJobs(context) : createWebhooks(context));

  return {
    render() {
      const tab = shown();
      return html`<div class="view automations">
        <header><h1>${t.automations.title}</h1></header>
        ${tabs({
          label: t.automations.title,
          tabs: TABS.map((id) => [id, t.automations.tabs[id]]),
          selected: tab,
          select: (id) => context.go("automations", { tab: id }),
          content: () =>
            html`<h2 class="unseen">${t.automations.tabs[tab]}</h2>
              ${
                serves[tab]
                  ? open(tab).render()
                  : empty(
                      t.automations.off(t.automations.tabs[tab]),
                      t.automations.offText(tab === "jobs" ? "cron" : "webhooks"),
                    )
              }`,
        })}
      </div>`;
    },
  };
}) satisfies OpenView;

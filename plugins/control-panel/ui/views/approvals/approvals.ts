/** Approvals: what waits for a decision, what was decided, what is allowed for longer, and the rules for commands. */
import { execApproval, execApprovalRequested, execApprovalResolved, execApprovals } from "@svc/sdk/approvals";
import { nodes } from "@svc/sdk/nodes";
import { html, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { Check, Clock, X } from "lucide";
import type { OpenView } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { countdown } from "../../parts/countdown.ts";
import { confirm } from "../../parts/dialog.ts";
import { execPolicy } from "../../parts/exec-policy.ts";
import { icon } from "../../parts/icon.ts";
import { badge, empty, facts, failed, show } from "../../parts/show.ts";
import { tabs } from "../../parts/tabs.ts";
import { toast } from "../../parts/toast.ts";
import { ago } from "../../parts/time.ts";
import { askHowLong } from "./allow.ts";
import { type Approval, commandOf, factsOf, outcomeOf } from "./request.ts";
import "../../parts/form.css";
import "./approvals.css";

type Tab = "waiting" | "decided" | "grants" | "rules";

/** Requests that are shown; pending ones come first. */
const LIMIT = 200;

export default ((context) => {
  const mayGrant = context.may("operator.admin");
  const offered = (["waiting", "decided", "grants", "rules"] as const).filter(
    (tab) => tab === "waiting" || tab === "decided" || mayGrant,
  );
  const list = context.resource(() => context.call(execApproval.list, { limit: LIMIT }), {
    events: [execApprovalRequested, execApprovalResolved],
    everyMs: 15_000,
  });
  const known = context.resource(async () =>
    context.serves(nodes.list) && context.may("operator.read") ? (await context.call(nodes.list, {})).nodes : [],
  );
  const grants = context.resource(async () => (mayGrant ? (await context.call(execApprovals.grants, {})).grants : []), {
    events: [execApprovalResolved],
    everyMs: 60_000,
  });
  const rules = mayGrant
    ? execPolicy(context, {
        load: () => context.call(execApprovals.get, {}),
        save: (file, baseHash) => context.call(execApprovals.set, { file, baseHash }),
      })
    : undefined;
  /** Requests that are being decided, and why a decision was refused. */
  const busy = new Set<string>();
  const refusals = new Map<string, unknown>();

  const tab = (): Tab => offered.find((one) => one === context.place.params.get("tab")) ?? "waiting";
  const pending = () => {
    const all = list.value?.approvals.filter(({ status }) => status === "pending") ?? [];
    return all.toSorted((left, right) => left.createdAtMs - right.createdAtMs); // new ones do not move what people read
  };
  const nodeName = (id: string) => known.value?.find(({ nodeId }) => nodeId === id)?.displayName ?? id.slice(0, 12);
  const card = (id: string) => document.querySelector<HTMLElement>(`[data-approval="${CSS.escape(id)}"]`);

  async function settle(id: string, work: () => Promise<boolean>): Promise<void> {
    if (busy.has(id)) return;
    busy.add(id);
    refusals.delete(id);
    context.redraw();
    try {
      if (await work()) document.querySelector<HTMLElement>("main h1")?.focus(); // never the next request: a second key must not decide it
    } catch (error) {
      refusals.set(id, error);
    }
    busy.delete(id);
    await list.reload();
  }

  const decide = ({ id }: Approval, decision: "allow-once" | "deny") =>
    settle(id, async () => {
      await context.call(execApproval.resolve, { id, decision });
      toast(decision === "deny" ? t.approvals.denied : t.approvals.allowedOnce, "good");
      return true;
    });
  const allowFor = (approval: Approval) => settle(approval.id, () => askHowLong(context, approval));

  /** `a` and `d` decide the request that has the focus; without one, they only move the focus to the first. */
  const keyPressed = (event: KeyboardEvent) => {
    if (tab() !== "waiting" || !["a", "d"].includes(event.key) || event.repeat) return;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const target = event.target as Element;
    if (target.closest("input, textarea, select")) return;
    const id = target.closest<HTMLElement>("[data-approval]")?.dataset["approval"];
    const focused = pending().find((approval) => approval.id === id);
    if (focused) return void decide(focused, event.key === "a" ? "allow-once" : "deny");
    const [first] = pending();
    if (first) card(first.id)?.focus();
  };
  document.addEventListener("keydown", keyPressed, { signal: context.signal });

  const drawPending = (approval: Approval): TemplateResult => {
    const { id, request, expiresAtMs } = approval;
    const isBusy = busy.has(id);
    return html`<article
      class="card approval"
      tabindex="0"
      data-approval=${id}
      aria-label=${t.approvals.requestOf(request.command.slice(0, 80))}
    >
      <header>
        ${request.agentId ? badge(request.agentId, "accent") : nothing}
        ${request.turnSourceChannel ? badge(request.turnSourceChannel) : nothing}
        ${request.askedBy === undefined ? nothing : badge(request.askedBy)}
        <span class="fill"></span>
        <span class="quiet line"
          >${icon(Clock)} ${t.approvals.left} ${countdown(expiresAtMs, () => void list.reload())}</span
        >
      </header>
      ${commandOf(approval)} ${factsOf(approval, nodeName)} ${refusals.has(id) ? failed(refusals.get(id)) : nothing}
      <div class="actions">
        <button class="primary" ?disabled=${isBusy} @click=${() => decide(approval, "allow-once")}>
          ${icon(Check)}${t.approvals.once} <kbd>A</kbd>
        </button>
        <button ?disabled=${isBusy} @click=${() => allowFor(approval)}>${icon(Clock)}${t.approvals.allowFor} …</button>
        <button class="danger" ?disabled=${isBusy} @click=${() => decide(approval, "deny")}>
          ${icon(X)}${t.approvals.deny} <kbd>D</kbd>
        </button>
      </div>
    </article>`;
  };

  const drawDecided = (approval: Approval): TemplateResult => {
    const { request, resolvedBy, resolvedAtMs, reason, expiresAtMs, usedAtMs } = approval;
    return html`<details class="decided">
      <summary>
        ${outcomeOf(approval)}<code class="ellipsis">${request.command}</code>
        <span class="quiet">${ago(resolvedAtMs ?? expiresAtMs)}</span>
      </summary>
      ${commandOf(approval)}
      ${factsOf(approval, nodeName, [
        [t.approvals.decidedBy, resolvedBy],
        [t.approvals.reason, reason],
        [t.approvals.used, usedAtMs === undefined ? undefined : ago(usedAtMs)],
      ])}
    </details>`;
  };

  function waitingTab(): TemplateResult {
    return show(list, ({ approvers }) => {
      const all = pending();
      const nobody =
        approvers?.listed !== undefined && approvers.listed.length === 0
          ? html`<div class="notice warning"><p>${t.approvals.nobody}</p></div>`
          : nothing;
      if (all.length === 0) return html`${nobody}${empty(t.approvals.none, t.approvals.noneText)}`;
      return html`${nobody}
        <p class="quiet keys">${t.approvals.keys}</p>
        ${repeat(all, ({ id }) => id, drawPending)}`;
    });
  }

  function decidedTab(): TemplateResult {
    return show(list, ({ approvals }) => {
      const ended = approvals.filter(({ status }) => status !== "pending");
      if (ended.length === 0) return empty(t.approvals.noHistory);
      return html`<div class="card">${repeat(ended, ({ id }) => id, drawDecided)}</div>`;
    });
  }

  const forget = (digest: string, command: string) => async () => {
    const isDone = await confirm({
      title: t.approvals.revoke,
      text: html`<p>${t.approvals.revokeText}</p>
        <pre class="command-text">${command}</pre>`,
      action: t.approvals.revoke,
      isDangerous: true,
      work: () => context.call(execApprovals.forget, { digest }),
    });
    if (isDone) await grants.reload();
  };

  function grantsTab(): TemplateResult {
    return show(grants, (all) => {
      if (all.length === 0) return empty(t.approvals.noGrants, t.approvals.noGrantsText);
      return html`${repeat(
        all,
        ({ digest }) => digest,
        (grant) =>
          html`<article class="card">
            <pre class="command-text">${grant.command}</pre>
            ${facts([
              [t.approvals.covered, grant.for === "session" ? t.approvals.forSession : t.approvals.exactly],
              [t.approvals.agent, grant.agentId],
              [t.approvals.session, grant.sessionKey],
              [t.approvals.where, grant.nodeId === null ? undefined : t.approvals.onNode(nodeName(grant.nodeId))],
              [t.approvals.ends, ago(grant.expiresAtMs)],
              [t.approvals.decidedBy, grant.createdBy],
              [t.approvals.given, ago(grant.createdAtMs)],
              [t.approvals.used, grant.lastUsedAtMs === undefined ? undefined : ago(grant.lastUsedAtMs)],
            ])}
            <div class="actions">
              <button class="danger" @click=${forget(grant.digest, grant.command)}>${t.approvals.revoke}</button>
            </div>
          </article>`,
      )}`;
    });
  }

  const content = {
    waiting: waitingTab,
    decided: decidedTab,
    grants: grantsTab,
    rules: () => html`${rules?.render()}`,
  };
  return {
    render: () => {
      const count = pending().length;
      const label = (one: Tab) =>
        one === "waiting" && count > 0 ? `${t.approvals.tabs[one]} (${count})` : t.approvals.tabs[one];
      return html`<div class="view">
        <header><h1 tabindex="-1">${t.approvals.title}</h1></header>
        ${tabs({
          label: t.approvals.title,
          tabs: offered.map((one) => [one, label(one)]),
          selected: tab(),
          select: (one) => context.go("approvals", { tab: one === "waiting" ? undefined : one }, { replace: true }),
          content: () =>
            html`<h2 class="unseen">${t.approvals.tabs[tab()]}</h2>
              ${content[tab()]()}`,
        })}
      </div>`;
    },
  };
}) satisfies OpenView;

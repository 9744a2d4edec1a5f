/** What needs a person: every source says what is wrong, and where to mend it. A source whose plugin is missing says nothing. */
import { execApproval, execApprovalRequested, execApprovalResolved } from "@svc/sdk/approvals";
import { channelPairing, channels, type ChannelAccountSnapshot } from "@svc/sdk/channels";
import { config } from "@svc/sdk/config";
import { cron, cronEvent } from "@svc/sdk/cron";
import { devicePairRequested, devicePairResolved, devices } from "@svc/sdk/devices";
import { healthEvent } from "@svc/sdk/health";
import { heartbeat, heartbeatEvent } from "@svc/sdk/heartbeat";
import { models } from "@svc/sdk/models";
import { nodePairRequested, nodePairResolved, nodes } from "@svc/sdk/nodes";
import { plugins } from "@svc/sdk/plugins";
import { webhooks } from "@svc/sdk/webhooks";
import type { App, ResourceOptions, ViewContext } from "../../core/app.ts";
import { t } from "../../core/text.ts";
import { detailsOf } from "../../parts/failure.ts";

/** Something that needs a person. */
export interface Need {
  readonly severity: "bad" | "warning" | "info";
  /** One sentence. */
  readonly text: string;
  /** Why, or what exactly; may come from outside. */
  readonly detail?: string | undefined;
  /** The view in which people mend it. */
  readonly view?: string;
  readonly params?: Readonly<Record<string, string>>;
  /** The command that mends it. */
  readonly command?: string;
}

/** Choice: rows of one source; the rest is counted. */
const MOST = 5;
/** Choice: milliseconds for which a failed webhook needs attention. */
const RECENT_MS = 7 * 86_400_000;

type Source = (app: App) => Promise<readonly Need[]>;
type Name = keyof typeof SOURCES;

/** Events after which a source is asked again. */
const EVENTS: Readonly<Partial<Record<Name, NonNullable<ResourceOptions["events"]>>>> = {
  approvals: [execApprovalRequested, execApprovalResolved],
  pairing: [devicePairRequested, devicePairResolved, nodePairRequested, nodePairResolved],
  plugins: [healthEvent],
  channels: [healthEvent],
  jobs: [cronEvent],
  heartbeat: [heartbeatEvent],
};
const EVERY_MS = 30_000;
/** Choice: the installation changes rarely, and its check reads many files. */
const RARELY_MS = 600_000;
/** Choice: milliseconds after which a slow source no longer holds back the others. */
const PATIENCE_MS = 1_000;

/**
 * Watches every source by itself. The list appears as a whole, since rows that arrive one by one move others from under the
 * pointer; only a slow source is added later.
 */
export function watchNeeds(context: ViewContext): { readonly needs: readonly Need[]; readonly isComplete: boolean } {
  const watched = Object.entries(SOURCES).map(([name, source]) =>
    context.resource(() => ask(context, name as Name, source), {
      events: EVENTS[name as Name] ?? [],
      everyMs: name === "installation" ? RARELY_MS : EVERY_MS,
    }),
  );
  let isPatient = true;
  const timer = setTimeout(() => {
    isPatient = false;
    context.redraw();
  }, PATIENCE_MS);
  context.signal.addEventListener("abort", () => clearTimeout(timer));
  const order = ["bad", "warning", "info"];
  return {
    /** The worst first. */
    get needs() {
      if (isPatient && !this.isComplete) return [];
      const found = watched.flatMap(({ value = [] }) => value);
      return found.toSorted((one, other) => order.indexOf(one.severity) - order.indexOf(other.severity));
    },
    get isComplete() {
      return watched.every(({ value }) => value !== undefined);
    },
  };
}

/** A source that fails is a need itself. */
async function ask(app: App, name: Name, source: Source): Promise<readonly Need[]> {
  try {
    return await source(app);
  } catch (error) {
    const text = t.overview.notChecked(t.overview.sources[name]);
    return [{ severity: "warning", text, detail: detailsOf(error).message, view: "logs" }];
  }
}

/** The first rows, and one that counts the others. */
function bounded(needs: readonly Need[], more: (count: number) => string): readonly Need[] {
  const [first] = needs;
  if (needs.length <= MOST || !first) return needs;
  const { severity, view, params } = first;
  const tab = params?.["tab"]; // without the row itself, e.g. a job
  const place = { ...(view === undefined ? {} : { view }), ...(tab === undefined ? {} : { params: { tab } }) };
  return [...needs.slice(0, MOST), { severity, text: more(needs.length - MOST), ...place }];
}

const SOURCES = {
  async approvals(app) {
    if (!app.serves(execApproval.list) || !app.may("operator.approvals")) return [];
    const { approvals } = await app.call(execApproval.list, {});
    const count = approvals.filter(({ status }) => status === "pending").length;
    return count === 0 ? [] : [{ severity: "bad", text: t.shell.waitingApprovals(count), view: "approvals" }];
  },

  async pairing(app) {
    if (!app.may("operator.pairing")) return [];
    const [ofDevices, ofNodes, ofPeople] = await Promise.all([
      app.serves(devices.list) ? app.call(devices.list, {}) : undefined,
      app.serves(nodes.pairList) ? app.call(nodes.pairList, {}) : undefined,
      app.serves(channelPairing.list) ? app.call(channelPairing.list, {}) : undefined,
    ]);
    const row = (count: number, text: (count: number) => string, view: string): readonly Need[] =>
      count === 0 ? [] : [{ severity: "warning", text: text(count), view }];
    const waiting = [...(ofDevices?.pending ?? []), ...(ofNodes?.pending ?? [])].map(({ requestId }) => requestId);
    return [
      ...row(new Set(waiting).size, t.overview.devicesWait, "devices"),
      ...row(ofPeople?.pending.length ?? 0, t.overview.peopleWait, "channels"),
    ];
  },

  async plugins(app) {
    if (!app.serves(plugins.list)) return [];
    const { plugins: all } = await app.call(plugins.list, {});
    const broken = all.filter(({ state }) => ["failed", "quarantined", "blocked"].includes(state));
    return bounded(
      broken.map(({ id, state, reason }) => ({
        severity: state === "blocked" ? "warning" : "bad",
        text: t.overview.plugin(id, state),
        detail: reason,
        view: "plugins",
      })),
      t.overview.morePlugins,
    );
  },

  async installation(app) {
    if (!app.serves(plugins.doctor) || !app.may("operator.admin")) return [];
    const { findings } = await app.call(plugins.doctor, {});
    return bounded(
      findings.map(({ severity, about, message, next }) => ({
        severity: severity === "error" ? "bad" : "warning",
        text: `${about}: ${message}`,
        ...(next.startsWith("svc ") ? { command: next } : { detail: next, view: "plugins" }),
      })),
      t.overview.morePlugins,
    );
  },

  async channels(app) {
    if (!app.serves(channels.status)) return [];
    const { channelAccounts, channelLabels } = await app.call(channels.status, {});
    const needs = Object.entries(channelAccounts).flatMap(([channel, accounts]) =>
      accounts
        .filter(({ enabled, configured }) => enabled !== false && configured === true)
        .flatMap((account) => channelNeeds(channelLabels[channel] ?? channel, account)),
    );
    return bounded(needs, t.overview.moreChannels);
  },

  async jobs(app) {
    if (!app.serves(cron.list)) return [];
    const { jobs } = await app.call(cron.list, {
      enabled: "enabled",
      limit: 200,
      sortBy: "updatedAtMs",
      sortDir: "desc",
    });
    const bad = jobs.filter(({ state }) => (state.lastRunStatus ?? state.lastStatus) === "error");
    return bounded(
      bad.map(({ id, name, state }) => ({
        severity: (state.consecutiveErrors ?? 0) > 1 ? "bad" : "warning",
        text: t.overview.job(name, state.consecutiveErrors ?? 1),
        detail: state.lastError,
        view: "automations",
        params: { tab: "jobs", job: id },
      })),
      t.overview.moreJobs,
    );
  },

  async webhooks(app) {
    if (!app.serves(webhooks.list)) return [];
    const { enabled } = await app.call(webhooks.list, {});
    const params = { tab: "webhooks" };
    const { runs } = await app.call(webhooks.runs, { status: "failed", limit: 50 });
    const since = Date.now() - RECENT_MS;
    const open = runs.filter(({ replayedAs, acceptedAt }) => replayedAs === undefined && acceptedAt > since);
    const failures: readonly Need[] =
      open.length === 0
        ? []
        : [
            {
              severity: "warning",
              text: t.overview.webhooks(open.length),
              detail: open[0]?.reason,
              view: "automations",
              params,
            },
          ];
    if (!enabled) return failures;
    const { problems } = await app.call(webhooks.check, {});
    const errors = problems.filter(({ severity }) => severity === "error");
    return [
      ...failures,
      ...bounded(
        errors.map(({ path, message }) => ({
          severity: "bad",
          text: t.overview.webhookProblem(path),
          detail: message,
          view: "automations",
          params,
        })),
        t.overview.moreProblems,
      ),
    ];
  },

  async config(app) {
    if (!app.serves(config.get)) return [];
    const { issues, warnings, running } = await app.call(config.get, {});
    const view = "config";
    const rows = (severity: Need["severity"], list: typeof issues) =>
      list.map(({ path, message }): Need => ({ severity, text: path === "" ? message : `${path}: ${message}`, view }));
    return [
      ...(running?.refused
        ? [{ severity: "bad", text: t.overview.configRefused, detail: running.refused.reason, view } satisfies Need]
        : bounded(rows("bad", issues), t.overview.moreProblems)),
      ...(running?.restart
        ? [{ severity: "warning", text: t.overview.restart(running.restart.paths.join(", ")), view } satisfies Need]
        : []),
      ...bounded(rows("warning", warnings), t.overview.moreProblems),
    ];
  },

  async models(app) {
    if (!app.serves(models.list)) return [];
    const { default: used, providers } = await app.call(models.status, {});
    const canSetUp = app.may("operator.admin") && app.serves("wizard.start");
    const mend = canSetUp ? { view: "setup" } : { command: "svc models add" };
    if (used === undefined) return [{ severity: "bad", text: t.overview.noModel, ...mend }];
    const isOffline = providers.find(({ name }) => used.startsWith(`${name}/`))?.api === "offline";
    const trouble = providers.flatMap(({ name, usable, api, accounts }): readonly Need[] => {
      if (!usable) return [{ severity: "bad", text: t.overview.providerOff(name, api), view: "plugins" }];
      return accounts.flatMap(({ name: account, lastFailure }): readonly Need[] =>
        lastFailure && ["auth", "billing"].includes(lastFailure.kind)
          ? [
              {
                severity: "bad",
                text: t.overview.keyRefused(name, account, lastFailure.kind === "billing"),
                view: "agents",
              },
            ]
          : [],
      );
    });
    return [
      ...(isOffline ? [{ severity: "warning", text: t.overview.onlyOffline, ...mend } satisfies Need] : []),
      ...bounded(trouble, t.overview.moreProblems),
    ];
  },

  async heartbeat(app) {
    if (!app.serves(heartbeat.last)) return [];
    const last = await app.call(heartbeat.last, {});
    return last?.status === "failed"
      ? [{ severity: "warning", text: t.overview.heartbeat, detail: last.reason, view: "logs" }]
      : [];
  },
} satisfies Readonly<Record<string, Source>>;

function channelNeeds(label: string, account: ChannelAccountSnapshot): readonly Need[] {
  const { accountId, connected, running, linked, lastError, failedOutbound = 0, lastFailedOutbound } = account;
  const name = accountId === "default" ? label : `${label} (${accountId})`;
  const view = "channels";
  const state: readonly Need[] =
    linked === false
      ? [{ severity: "bad", text: t.overview.channelLogin(name), view }]
      : connected === true
        ? []
        : running === true && (lastError ?? "") === ""
          ? []
          : [{ severity: "bad", text: t.overview.channel(name), detail: lastError ?? account.state, view }];
  return [
    ...state,
    ...(failedOutbound > 0
      ? [
          {
            severity: "warning",
            text: t.overview.unsent(name, failedOutbound),
            detail: lastFailedOutbound,
            view,
          } satisfies Need,
        ]
      : []),
    ...(account.warnings ?? []).map(({ message, next }): Need => ({
      severity: "warning",
      text: `${name}: ${message}`,
      ...(next.startsWith("svc ") ? { command: next } : { detail: next, view }),
    })),
  ];
}

/** Settings of OpenClaw without a counterpart, where validation would accept them or explain less well. Data only. */

export interface Without {
  readonly at: string;
  readonly action: "keep" | "drop";
  readonly reason: string;
  readonly next?: string;
  /** Only for these values; default: all. */
  readonly when?: (value: unknown) => boolean;
}

const WATCHER =
  "account,label,topic,subscription,pushToken,hookUrl,includeBody,maxBytes,renewEveryMinutes,serve,tailscale";
const NO_PLUGIN = "no plugin in use has it";

/** Settings without a counterpart that validation would accept, or would explain less well. */
export const WITHOUT: readonly Without[] = [
  { at: "{$schema,meta,wizard,cli}", action: "drop", reason: "belongs to the tools of OpenClaw" },
  { at: "web", action: "drop", reason: "the channel plugin connects again by itself" },
  { at: "discovery", action: "drop", reason: "this gateway does not announce itself in the network" },
  { at: "acp", action: "keep", reason: NO_PLUGIN },
  { at: "diagnostics", action: "keep", reason: NO_PLUGIN, next: "see the plugin metrics: svc plugins why metrics" },
  { at: "memory", action: "keep", reason: "the memory plugin keeps its own index of the same notes" },
  {
    at: "commands.useAccessGroups",
    action: "drop",
    reason: "only people listed in channels.<id>.allowFrom give commands here, and everyone has /help and /whoami",
  },
  { at: "broadcast", action: "keep", reason: NO_PLUGIN },
  { at: "hooks.internal", action: "keep", reason: "plugins replace in-process hooks" },
  {
    at: `hooks.gmail.{${WATCHER}}`,
    action: "keep",
    reason: "this gateway starts no mail watcher",
    next: "run one next to it that posts to <hooks.path>/gmail",
  },
  { at: "plugins.enabled", action: "drop", reason: "plugins are always in use", when: (value) => value === true },
  { at: "plugins.{slots,installs}", action: "drop", reason: "the state directory records the installed plugins" },
  {
    at: "plugins.load",
    action: "drop",
    reason: "is the default",
    when: (value) => JSON.stringify(value) === JSON.stringify({ paths: [] }),
  },
  { at: "plugins.load", action: "keep", reason: "plugins of OpenClaw have another interface and are never loaded" },
  {
    at: "plugins.entries.{telegram,discord,slack,signal,imessage,whatsapp,mattermost,msteams,browser}.enabled",
    action: "drop",
    reason: "is the default",
    when: (value) => value === true,
  },
  {
    at: "plugins.entries.*.enabled",
    action: "drop",
    reason: "the plugin of OpenClaw is not loaded",
    when: (value) => value === true,
  },
  { at: "plugins.entries.*.{config,hooks,apiKey,env}", action: "keep", reason: "the plugin of OpenClaw is not loaded" },
  { at: "agents.ownership", action: "drop", reason: "every agent here belongs to the operator" },
  { at: "agents.defaults.systemAgent", action: "drop", reason: "no agent has tasks of the gateway" },
  {
    at: "agents.list[].agentDir",
    action: "drop",
    reason: "would be moved to the trash when the agent is deleted",
  },
  { at: "agents.list[].tools.fs", action: "drop", reason: "file tools never leave the workspace here" },
  {
    at: "tools.fs.workspaceOnly",
    action: "drop",
    reason: "file tools never leave the workspace here",
    when: (value) => value !== true,
  },
  {
    at: "tools.exec.host",
    action: "drop",
    reason: "commands run on this machine",
    when: (value) => value === "sandbox" || value === "auto",
  },
  { at: "gateway.auth.allowTailscale", action: "drop", reason: "nobody gets in by a name in the overlay network here" },
  {
    at: "models.providers.*.auth",
    action: "keep",
    reason: "only keys and tokens are used here",
    when: (value) => value !== "api-key",
  },
];

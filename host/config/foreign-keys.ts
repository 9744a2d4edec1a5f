/**
 * Keys of existing configurations that this gateway does not read. `*` stands for any key, `[]` for any item of a list; each
 * entry covers all keys below it. Spec: http/config-keys.md; decision "keys of existing configurations" of spec/README.md. Data only.
 */

const MEDIA_KINDS = ["tools.media.image", "tools.media.audio", "tools.media.video"];
const MEDIA_MODELS = ["tools.media.models[]", "tools.media.image.models[]", "tools.media.audio.models[]"];

/** Every key below every parent. */
function below(parents: readonly string[], ...keys: readonly string[]): readonly string[] {
  return parents.flatMap((parent) => keys.map((key) => `${parent}.${key}`));
}

/** Keys accepted without effect, each group with the reason. */
export const WITHOUT_EFFECT: readonly (readonly [why: string, ...keys: readonly string[]])[] = [
  ["the gateway always runs on the machine where it is started", "gateway.mode", "gateway.remote"],
  [
    "overlay networks are set up outside the gateway; gateway.bind tailnet listens on one",
    "gateway.tailscale",
    "gateway.auth.allowTailscale",
  ],
  ["pages of the canvas are served on the port of the gateway", "canvasHost.port"],
  ["accounts of channels are supervised all the time", "gateway.channelHealthCheckMinutes"],
  ["browsers are controlled over a pipe, which has no port", "browser.cdpPortRangeStart"],
  [
    "the node program of this gateway offers no browser; other node programs have their own setting",
    "nodeHost.browserProxy",
  ],
  ["plugins replace in-process hooks", "hooks.internal"],
  ["a plugin is configured in its own section and installed with svc plugins install", "plugins.entries.*.config"],
  ["the state directory records the installed plugins", "plugins.installs", "plugins.slots"],
  [
    "sessions, runs and jobs are stored in the database of the state directory",
    "session.store",
    "cron.store",
    "cron.runLog.maxBytes",
    "agents.defaults.memorySearch.store.driver",
    "agents.defaults.memorySearch.store.path",
    "agents.defaults.memorySearch.store.vector.extensionPath",
  ],
  [
    "chat commands are those of /help; sessions are reset by them and by session.reset",
    "session.resetTriggers",
    "session.threadBindings",
    "session.parentForkMaxTokens",
    "session.agentToAgent",
  ],
  [
    "each channel shows typing and growing answers; see channels.<id>.streaming",
    "session.typingMode",
    "session.typingIntervalSeconds",
    "agents.defaults.typingMode",
    "agents.defaults.typingIntervalSeconds",
    "agents.defaults.blockStreamingDefault",
    "agents.defaults.blockStreamingBreak",
    "agents.defaults.blockStreamingChunk",
    "agents.defaults.blockStreamingCoalesce",
    "agents.defaults.humanDelay",
    "agents.list[].humanDelay",
  ],
  [
    "set for each channel: mentionPatterns, historyLimit and ackReaction; answers are not changed",
    "messages.messagePrefix",
    "messages.responsePrefix",
    "messages.groupChat",
    "messages.inbound",
    "messages.ackReaction",
    "messages.ackReactionScope",
    "messages.removeAckAfterReply",
    "messages.statusReactions",
    "messages.suppressToolErrors",
    "agents.list[].groupChat",
  ],
  [
    "chat commands are those of /help: the owner alone has /config and /restart, networks with a command menu get the list",
    "commands.native",
    "commands.nativeSkills",
    "commands.text",
    "commands.bash",
    "commands.bashForegroundMs",
    "commands.config",
    "commands.debug",
    "commands.restart",
    "commands.ownerDisplay",
    "commands.ownerDisplaySecret",
  ],
  ["each job names its own webhook", "cron.webhook"],
  [
    "the search engine is set with tools.web.search.provider and apiKey",
    "tools.web.search.perplexity",
    "tools.web.search.grok",
    "tools.web.search.gemini",
    "tools.web.search.kimi",
  ],
  [
    "transcription servers get the standard fields, all files of a message are read, and transcripts go to the agent only",
    ...below(MEDIA_KINDS, "providerOptions", "deepgram", "attachments", "echoTranscript", "echoFormat"),
    ...below(MEDIA_MODELS, "providerOptions", "deepgram", "profile", "preferredProfile"),
    ...below(MEDIA_MODELS.slice(1), "capabilities"),
  ],
  [
    "models that describe pictures are those of models.providers",
    ...below(["tools.media.image", "tools.media.image.models[]"], "language", "baseUrl", "headers"),
  ],
  [
    "a video is read as pictures, described as tools.media.image says, and sound, transcribed as tools.media.audio says",
    ...below(["tools.media.video"], "maxChars", "prompt", "language", "baseUrl", "headers", "models"),
  ],
  ["agents open links themselves, with the tool web_fetch", "tools.links"],
  ["pictures are sent as they are; providers scale them down", "agents.defaults.imageMaxDimensionPx"],
  ["received files are kept in the database, with their names", "media.preserveFilenames"],
  [
    "tools.exec.security and the approvals allowlist decide about every program",
    "tools.exec.safeBins",
    "tools.exec.safeBinTrustedDirs",
    "tools.exec.safeBinProfiles",
  ],
  [
    "a command ends with the call that runs it",
    "tools.exec.backgroundMs",
    "tools.exec.notifyOnExit",
    "tools.exec.notifyOnExitEmptySuccess",
  ],
  ["runs of other agents accept no files", "tools.sessions_spawn"],
  [
    "prompts are built without it",
    "agents.defaults.models.*.params",
    "agents.defaults.models.*.streaming",
    "agents.defaults.repoRoot",
    "agents.defaults.timeFormat",
    "agents.defaults.envelopeTimezone",
    "agents.defaults.envelopeTimestamp",
    "agents.defaults.envelopeElapsed",
    "agents.defaults.contextPruning",
    "agents.defaults.compaction.reserveTokensFloor",
    "agents.defaults.compaction.identifierPolicy",
    "agents.defaults.compaction.identifierInstructions",
    "agents.defaults.compaction.memoryFlush",
    "agents.defaults.heartbeat.suppressToolErrorWarnings",
    "agents.list[].heartbeat.suppressToolErrorWarnings",
    "agents.defaults.subagents.announceTimeoutMs",
  ],
  ["agents run only in the gateway", "agents.defaults.cliBackends", "agents.defaults.embeddedPi"],
  [
    "the memory plugin determines how notes are indexed",
    "agents.defaults.memorySearch.experimental",
    "agents.defaults.memorySearch.remote.batch",
    "agents.defaults.memorySearch.local",
    "agents.defaults.memorySearch.sync.onSessionStart",
    "agents.defaults.memorySearch.sync.sessions",
    "agents.list[].memorySearch.experimental",
    "agents.list[].memorySearch.remote.batch",
    "agents.list[].memorySearch.local",
    "agents.list[].memorySearch.store.driver",
    "agents.list[].memorySearch.store.path",
    "agents.list[].memorySearch.store.vector.extensionPath",
    "agents.list[].memorySearch.sync.onSessionStart",
    "agents.list[].memorySearch.sync.sessions",
  ],
  ["no agent has elevated commands", "agents.defaults.elevatedDefault"],
];

const NO_SANDBOX =
  "this key does not sandbox commands; set tools.exec.sandbox.mode, or limit commands with tools.exec.security";

const WHO_COMMANDS =
  "this key does not limit who gives commands: people listed in channels.<id>.allowFrom do, and everyone has /help and /whoami";

/** Keys refused because they promise a protection that is not implemented; the value is the alternative. */
export const UNPROTECTED: Readonly<Record<string, string>> = {
  "plugins.enabled":
    "this key has no effect; disable plugins one by one with plugins.entries.<id>.enabled, or list the wanted ones in plugins.use",
  "plugins.allow": "this list does not stop plugins from loading; list the plugins to load in plugins.use",
  "plugins.deny": "this list does not stop plugins from loading; disable plugins with plugins.entries.<id>.enabled",
  "channels.defaults.groupPolicy": "this key does not limit groups; set channels.<id>.groupPolicy for each channel",
  "commands.allowFrom": WHO_COMMANDS,
  "commands.useAccessGroups": WHO_COMMANDS,
  "commands.ownerAllowFrom":
    "this list makes nobody an owner: only clients with operator.admin are; people in channels are those in channels.<id>.allowFrom",
  "tools.sandbox": NO_SANDBOX,
  "agents.defaults.sandbox": NO_SANDBOX,
  "agents.list[].sandbox": NO_SANDBOX,
  "tools.elevated": "there are no elevated commands to allow; set what commands may do with tools.exec.security",
  "agents.list[].tools.elevated": "there are no elevated commands to allow; set tools.exec.security",
  "tools.loopDetection": "loops of tool calls are not detected; limit a run with agents.defaults.timeoutSeconds",
  "agents.list[].tools.loopDetection":
    "loops of tool calls are not detected; limit a run with agents.defaults.timeoutSeconds",
  "tools.message": "this key does not limit where messages are sent; remove the tool with tools.deny",
  "tools.exec.node": "this key does not send commands to a node; they would run on this machine",
  "tools.exec.applyPatch":
    "this key does not limit patches; remove the tool with tools.deny, or set tools.fs.workspaceOnly",
};

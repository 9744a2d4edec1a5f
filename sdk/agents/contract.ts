/** Agents: `agent`, `agent.wait`, `agents.*` and the `agent` event. Spec: protocol/methods-agent.md, protocol/events.md §3. */
import { defineContract, defineEvent } from "../contract.ts";
import { NonEmpty, Strict, Type } from "../schema.ts";

const text = Type.Optional(Type.String());
const AgentId = Type.String({ minLength: 1, maxLength: 200 });
const AgentName = Type.String({ minLength: 1, maxLength: 200 });
const WorkspacePath = Type.String({ minLength: 1, maxLength: 4096, description: "absolute, or from `~`" });
const Emoji = Type.String({ minLength: 1, maxLength: 64 });
const Avatar = Type.String({
  minLength: 1,
  maxLength: 2048,
  description: "http(s) or data URL, path of an image in the workspace, or a few characters",
});

/** How an agent presents itself; `avatarUrl` can be shown as it is. */
const AgentIdentity = Type.Object({ name: text, theme: text, emoji: text, avatar: text, avatarUrl: text });

/** A file of a workspace: there, or missing. */
const WorkspaceFile = Type.Object({
  name: Type.String(),
  path: Type.String(),
  missing: Type.Boolean(),
  size: Type.Optional(Type.Integer({ description: "bytes" })),
  updatedAtMs: Type.Optional(Type.Integer({ description: "epoch ms" })),
  content: text,
});

const VersionNumber = (description: string) => Type.Integer({ minimum: 1, description });

/** A version of an identity file, without its text. */
const FileVersion = Type.Object({
  name: Type.String(),
  version: VersionNumber("counts from 1 for each file"),
  at: Type.Integer({ description: "epoch ms" }),
  how: Type.String({
    description:
      "tool or method that wrote it, e.g. `write`, `agents.files.set`; `template`: as in a new workspace; `outside`: an editor, a command or another program",
  }),
  principal: Type.Optional(Type.Object({ id: Type.String(), provenance: Type.String() })),
  sessionKey: Type.Optional(Type.String()),
  runId: Type.Optional(Type.String()),
  size: Type.Optional(Type.Integer({ description: "bytes; absent: there was no file" })),
  sha256: Type.Optional(Type.String({ description: "of the first 1 MiB, in hex" })),
  isKept: Type.Boolean({ description: "false: the file had more than 1 MiB, and only its size and hash are kept" }),
});

/** Run agents and name them. */
export const agents = defineContract("agents", {
  run: {
    name: "agent",
    summary: "Run an agent: answers `accepted` at once and the outcome under the same id",
    scope: "operator.write",
    params: Strict({
      message: NonEmpty,
      idempotencyKey: NonEmpty,
      agentId: Type.Optional(NonEmpty),
      sessionKey: text,
      sessionId: text,
      to: text,
      replyTo: text,
      replyChannel: text,
      replyAccountId: text,
      channel: text,
      accountId: text,
      threadId: text,
      groupId: text,
      groupChannel: text,
      groupSpace: text,
      thinking: text,
      deliver: Type.Optional(Type.Boolean()),
      bestEffortDeliver: Type.Optional(Type.Boolean()),
      attachments: Type.Optional(Type.Array(Type.Unknown())),
      timeout: Type.Optional(Type.Integer({ minimum: 0, description: "seconds; 0 means no limit" })),
      lane: text,
      extraSystemPrompt: text,
      internalEvents: Type.Optional(Type.Array(Type.Unknown())),
      inputProvenance: Type.Optional(Type.Unknown()),
      label: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      spawnedBy: text,
    }),
    result: Type.Object({
      runId: Type.String(),
      status: Type.String(),
      acceptedAt: Type.Optional(Type.Integer({ description: "epoch ms" })),
      summary: Type.Optional(Type.String()),
      result: Type.Optional(Type.Unknown()),
    }),
  },
  wait: {
    name: "agent.wait",
    summary: "Wait for a run to end",
    scope: "operator.write",
    params: Strict({
      runId: NonEmpty,
      timeoutMs: Type.Optional(Type.Integer({ minimum: 0, description: "milliseconds; default 30000" })),
    }),
    result: Type.Object({
      runId: Type.String(),
      status: Type.Union([Type.Literal("ok"), Type.Literal("error"), Type.Literal("timeout")]),
      startedAt: Type.Optional(Type.Integer()),
      endedAt: Type.Optional(Type.Integer()),
      error: Type.Optional(Type.String()),
    }),
  },
  identity: {
    name: "agent.identity.get",
    summary: "Name and picture to show for an agent",
    scope: "operator.read",
    params: Strict({ agentId: Type.Optional(AgentId), sessionKey: text }),
    result: Type.Object({
      agentId: Type.String(),
      name: Type.String({ maxLength: 50 }),
      avatar: Type.String({ maxLength: 200 }),
      emoji: Type.Optional(Type.String({ maxLength: 16 })),
    }),
  },
  list: {
    summary: "The configured agents, the default one first",
    scope: "operator.read",
    params: Strict({}),
    result: Type.Object({
      defaultId: Type.String(),
      mainKey: Type.String(),
      scope: Type.Union([Type.Literal("per-sender"), Type.Literal("global")]),
      agents: Type.Array(Type.Object({ id: Type.String(), name: text, identity: Type.Optional(AgentIdentity) })),
    }),
  },
  create: {
    summary: "Add an agent with a workspace of its own",
    scope: "operator.admin",
    params: Strict({
      name: AgentName,
      workspace: WorkspacePath,
      emoji: Type.Optional(Emoji),
      avatar: Type.Optional(Avatar),
    }),
    result: Type.Object({
      ok: Type.Literal(true),
      agentId: Type.String(),
      name: Type.String(),
      workspace: Type.String(),
    }),
  },
  update: {
    summary: "Change an agent; what is left out stays",
    scope: "operator.admin",
    params: Strict({
      agentId: AgentId,
      name: Type.Optional(AgentName),
      workspace: Type.Optional(WorkspacePath),
      model: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: "`provider/id` or an alias" })),
      avatar: Type.Optional(Avatar),
    }),
    result: Type.Object({ ok: Type.Literal(true), agentId: Type.String() }),
  },
  delete: {
    summary: "Take an agent off the list; its files go to the trash",
    scope: "operator.admin",
    params: Strict({
      agentId: AgentId,
      deleteFiles: Type.Optional(
        Type.Boolean({ description: "default true: files to the trash, conversations archived; false: both stay" }),
      ),
    }),
    result: Type.Object({
      ok: Type.Literal(true),
      agentId: Type.String(),
      removedBindings: Type.Integer({ minimum: 0 }),
      trash: Type.Optional(Type.String({ description: "where its files lie now" })),
      kept: Type.Optional(Type.Array(Type.String(), { description: "what stays where it is, and why" })),
    }),
  },
  filesList: {
    name: "agents.files.list",
    summary: "The files an agent's prompt is made of",
    scope: "operator.read",
    params: Strict({ agentId: AgentId }),
    result: Type.Object({ agentId: Type.String(), workspace: Type.String(), files: Type.Array(WorkspaceFile) }),
  },
  filesGet: {
    name: "agents.files.get",
    summary: "One of these files",
    scope: "operator.read",
    params: Strict({ agentId: AgentId, name: NonEmpty }),
    result: Type.Object({ agentId: Type.String(), workspace: Type.String(), file: WorkspaceFile }),
  },
  filesSet: {
    name: "agents.files.set",
    summary: "Write one of these files",
    scope: "operator.admin",
    params: Strict({ agentId: AgentId, name: NonEmpty, content: Type.String() }),
    result: Type.Object({
      ok: Type.Literal(true),
      agentId: Type.String(),
      workspace: Type.String(),
      file: WorkspaceFile,
    }),
  },
  filesLog: {
    name: "agents.files.log",
    summary: "Versions of these files, the newest first: who changed them, when and by what",
    scope: "operator.read",
    advertised: false,
    params: Strict({
      agentId: Type.Optional(AgentId),
      name: Type.Optional(NonEmpty),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: "default 100" })),
    }),
    result: Type.Object({ agentId: Type.String(), versions: Type.Array(FileVersion) }),
  },
  filesDiff: {
    name: "agents.files.diff",
    summary: "What changed between two versions of one of these files",
    scope: "operator.read",
    advertised: false,
    params: Strict({
      agentId: Type.Optional(AgentId),
      name: NonEmpty,
      from: Type.Optional(
        Type.Integer({ minimum: 0, description: "default: the version before `to`; 0: there is no file yet" }),
      ),
      to: Type.Optional(VersionNumber("default: the newest, which is the file as it stands")),
    }),
    result: Type.Object({
      agentId: Type.String(),
      name: Type.String(),
      from: Type.Integer({ minimum: 0 }),
      to: Type.Integer({ minimum: 1 }),
      diff: Type.String({ description: "unified format; empty: they are equal" }),
    }),
  },
  filesRestore: {
    name: "agents.files.restore",
    summary: "Put one of these files back as it was in a version; what stands there is kept as a version first",
    scope: "operator.admin",
    advertised: false,
    params: Strict({ agentId: Type.Optional(AgentId), name: NonEmpty, version: VersionNumber("of agents.files.log") }),
    result: Type.Object({
      ok: Type.Literal(true),
      agentId: Type.String(),
      workspace: Type.String(),
      version: Type.Integer({ minimum: 1, description: "the newest version now" }),
      file: WorkspaceFile,
    }),
  },
});

/** Everything a run does. The `tool` stream goes only to connections with the cap `tool-events` that take part in the run. */
export const agentEvent = defineEvent({
  name: "agent",
  summary: "A run's steps: lifecycle, assistant text, tools",
  scope: "operator.read",
  formerlyForAll: true,
  payload: Type.Object({
    runId: Type.String(),
    seq: Type.Integer({ minimum: 1 }),
    stream: Type.String(),
    ts: Type.Integer({ description: "epoch ms" }),
    data: Type.Object({}),
    sessionKey: Type.Optional(Type.String()),
  }),
});

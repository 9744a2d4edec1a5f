/**
 * Agents: `agent`, `agent.wait`, `agents.*` and the `agent` event. Spec: protocol/methods-agent.md, protocol/events.md
 * §3.
 */
import { BaseHash } from "../base-hash.ts";
import { defineContract, defineEvent } from "../contract.ts";
import { ThinkingLevels } from "../models/contract.ts";
import { NonEmpty, Strict, Type } from "../schema.ts";

const text = Type.Optional(Type.String());
const AgentId = Type.String({ minLength: 1, maxLength: 200 });
const AgentName = Type.String({ minLength: 1, maxLength: 200 });
const WorkspacePath = Type.String({ minLength: 1, maxLength: 4096, description: "absolute, or starting with `~`" });
const Emoji = Type.String({ minLength: 1, maxLength: 64 });
const Avatar = Type.String({
  minLength: 1,
  maxLength: 2048,
  description: "http(s) or data URL, path of an image in the workspace, or a few characters",
});

/** How an agent presents itself; `avatarUrl` can be displayed directly. */
const AgentIdentity = Type.Object({ name: text, theme: text, emoji: text, avatar: text, avatarUrl: text });

/** A workspace file, which may be missing. */
const WorkspaceFile = Type.Object({
  name: Type.String(),
  path: Type.String(),
  missing: Type.Boolean(),
  size: Type.Optional(Type.Integer({ description: "bytes" })),
  updatedAtMs: Type.Optional(Type.Integer({ description: "epoch ms" })),
  content: text,
  hash: Type.Optional(Type.String({ description: "SHA-256 of the content, hex; with `content` only" })),
});

/** A part of a prompt. */
const PromptSection = Type.Object({
  kind: Type.Enum(["instructions", "file", "skills", "plugins"], {
    description:
      "instructions: `systemPrompt`; file: of the workspace; skills: their list; plugins: everything else that plugins added",
  }),
  title: Type.String({ description: "name of the file, else a few words" }),
  chars: Type.Integer({ description: "characters (UTF-16 units) in the prompt" }),
  fileChars: Type.Optional(Type.Integer({ description: "characters of the file that were read" })),
  truncated: Type.Optional(Type.Boolean({ description: "the file is longer than its part of the prompt" })),
  text: Type.String({ description: "its first 100,000 characters" }),
});

const VersionNumber = (description: string) => Type.Integer({ minimum: 1, description });

/** Metadata of one version of an identity file, without its text. */
const FileVersion = Type.Object({
  name: Type.String(),
  version: VersionNumber("counted from 1 per file"),
  at: Type.Integer({ description: "epoch ms" }),
  how: Type.String({
    description:
      "tool or method that wrote it, e.g. `write`, `agents.files.set`; `template`: unchanged from the template of a new workspace; `outside`: changed by an editor, a command or another program",
  }),
  principal: Type.Optional(Type.Object({ id: Type.String(), provenance: Type.String() })),
  sessionKey: Type.Optional(Type.String()),
  runId: Type.Optional(Type.String()),
  size: Type.Optional(Type.Integer({ description: "bytes; absent: the file did not exist" })),
  sha256: Type.Optional(Type.String({ description: "SHA-256 of the first 1 MiB, hex" })),
  isKept: Type.Boolean({ description: "false: the file exceeded 1 MiB; only its size and hash are stored" }),
});

/** An agent, with the settings that a new conversation starts with. */
const ListedAgent = Type.Object({
  id: Type.String(),
  kind: Type.Literal("agent"),
  name: text,
  identity: Type.Optional(AgentIdentity),
  workspace: Type.String({ description: "absolute path" }),
  model: Type.Optional(
    Type.Object(
      {
        primary: Type.String({ description: "`provider/id`" }),
        fallbacks: Type.Optional(Type.Array(Type.String({ description: "`provider/id`" }))),
      },
      { description: "absent: no model can be used" },
    ),
  ),
  thinkingLevels: Type.Optional(ThinkingLevels),
  thinkingDefault: Type.Optional(Type.String({ description: "absent: the model's own default" })),
});

/** Running and managing agents. */
export const agents = defineContract("agents", {
  run: {
    name: "agent",
    summary: "Run an agent; responds `accepted` at once and sends the outcome under the same id",
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
      timeout: Type.Optional(Type.Integer({ minimum: 0, description: "seconds; 0: no limit" })),
      lane: text,
      extraSystemPrompt: text,
      internalEvents: Type.Optional(Type.Array(Type.Unknown())),
      inputProvenance: Type.Optional(Type.Unknown()),
      label: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      spawnedBy: text,
    }),
    result: Type.Object({
      runId: Type.String(),
      sessionKey: Type.Optional(Type.String({ description: "canonical; with the status `accepted`" })),
      agentId: Type.Optional(Type.String({ description: "agent of the session; with the status `accepted`" })),
      status: Type.String(),
      acceptedAt: Type.Optional(Type.Integer({ description: "epoch ms" })),
      summary: Type.Optional(Type.String()),
      result: Type.Optional(Type.Unknown()),
    }),
  },
  wait: {
    name: "agent.wait",
    summary: "Wait until a run ends",
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
    summary: "Get the name and picture to show for an agent",
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
    summary: "List the configured agents, default agent first",
    scope: "operator.read",
    params: Strict({}),
    result: Type.Object({
      defaultId: Type.String(),
      mainKey: Type.String(),
      scope: Type.Union([Type.Literal("per-sender"), Type.Literal("global")]),
      agents: Type.Array(ListedAgent),
    }),
  },
  create: {
    summary: "Create an agent with its own workspace",
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
    summary: "Change an agent; omitted fields stay unchanged",
    scope: "operator.admin",
    params: Strict({
      agentId: AgentId,
      name: Type.Optional(AgentName),
      workspace: Type.Optional(WorkspacePath),
      model: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: "`provider/id` or an alias" })),
      avatar: Type.Optional(Avatar),
      emoji: Type.Optional(Type.String({ maxLength: 64, description: "blank: removes it from the configuration" })),
      theme: Type.Optional(
        Type.String({
          maxLength: 200,
          description: "a few words about its manner; blank: removes it from the configuration",
        }),
      ),
    }),
    result: Type.Object({ ok: Type.Literal(true), agentId: Type.String() }),
  },
  delete: {
    summary: "Remove an agent from the list; its files are moved to the trash",
    scope: "operator.admin",
    params: Strict({
      agentId: AgentId,
      deleteFiles: Type.Optional(
        Type.Boolean({
          description: "default true: files are moved to the trash, conversations archived; false: both stay",
        }),
      ),
    }),
    result: Type.Object({
      ok: Type.Literal(true),
      agentId: Type.String(),
      removedBindings: Type.Integer({ minimum: 0 }),
      trash: Type.Optional(Type.String({ description: "new location of the files" })),
      kept: Type.Optional(Type.Array(Type.String(), { description: "items left in place, and why" })),
    }),
  },
  filesList: {
    name: "agents.files.list",
    summary: "List the files that make up an agent's prompt",
    scope: "operator.read",
    params: Strict({ agentId: AgentId }),
    result: Type.Object({ agentId: Type.String(), workspace: Type.String(), files: Type.Array(WorkspaceFile) }),
  },
  filesGet: {
    name: "agents.files.get",
    summary: "Read one prompt file of an agent",
    scope: "operator.read",
    params: Strict({ agentId: AgentId, name: NonEmpty }),
    result: Type.Object({ agentId: Type.String(), workspace: Type.String(), file: WorkspaceFile }),
  },
  filesSet: {
    name: "agents.files.set",
    summary: "Write one prompt file of an agent",
    scope: "operator.admin",
    params: Strict({
      agentId: AgentId,
      name: NonEmpty,
      content: Type.String(),
      baseHash: BaseHash,
    }),
    result: Type.Object({
      ok: Type.Literal(true),
      agentId: Type.String(),
      workspace: Type.String(),
      file: WorkspaceFile,
    }),
  },
  promptPreview: {
    name: "agents.prompt.preview",
    summary: "Get the system prompt and the tools that a new conversation of an agent starts with",
    scope: "operator.read",
    advertised: false,
    params: Strict({ agentId: Type.Optional(AgentId) }),
    result: Type.Object({
      agentId: Type.String(),
      model: Type.String({ description: "`provider/id` that answers first; its tool rules apply" }),
      chars: Type.Integer({ description: "characters of the whole system prompt" }),
      sections: Type.Array(PromptSection, { description: "in order; without the marks and headings between them" }),
      tools: Type.Array(
        Type.Object({
          name: Type.String(),
          chars: Type.Integer({ description: "characters of its name, description and schema" }),
        }),
      ),
    }),
  },
  filesLog: {
    name: "agents.files.log",
    summary: "List the versions of an agent's prompt files, newest first: who changed them, when and how",
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
    summary: "Compare two versions of a prompt file",
    scope: "operator.read",
    advertised: false,
    params: Strict({
      agentId: Type.Optional(AgentId),
      name: NonEmpty,
      from: Type.Optional(
        Type.Integer({ minimum: 0, description: "default: the version before `to`; 0: before the file existed" }),
      ),
      to: Type.Optional(VersionNumber("default: the newest version, i.e. the current file")),
    }),
    result: Type.Object({
      agentId: Type.String(),
      name: Type.String(),
      from: Type.Integer({ minimum: 0 }),
      to: Type.Integer({ minimum: 1 }),
      diff: Type.String({ description: "unified format; empty: no difference" }),
    }),
  },
  filesRestore: {
    name: "agents.files.restore",
    summary: "Restore a version of a prompt file; the current content is first saved as a version",
    scope: "operator.admin",
    advertised: false,
    params: Strict({
      agentId: Type.Optional(AgentId),
      name: NonEmpty,
      version: VersionNumber("version number from agents.files.log"),
    }),
    result: Type.Object({
      ok: Type.Literal(true),
      agentId: Type.String(),
      workspace: Type.String(),
      version: Type.Integer({ minimum: 1, description: "the newest version after the restore" }),
      file: WorkspaceFile,
    }),
  },
});

/**
 * All progress of a run. The `tool` stream is only sent to connections that have the cap `tool-events` and take part in
 * the run.
 */
export const agentEvent = defineEvent({
  name: "agent",
  summary: "Progress of a run: lifecycle, assistant text, tools",
  scope: "operator.read",
  formerlyForAll: true,
  payload: Type.Object({
    runId: Type.String(),
    seq: Type.Integer({ minimum: 1 }),
    stream: Type.String(),
    ts: Type.Integer({ description: "epoch ms" }),
    data: Type.Object({}),
    sessionKey: Type.Optional(Type.String()),
    agentId: Type.Optional(Type.String()),
    sessionId: Type.Optional(Type.String({ description: "absent until the run has read its session" })),
  }),
});

/** Shapes around running a command: its plan, and the policy file that says what may run. Spec: protocol/stores.md §7, methods-exec-approvals.md §1-2. */
import { NonEmpty, type Static, Strict, Type } from "../schema.ts";

const nullable = Type.Union([Type.String(), Type.Null()]);

/** A command as it will run, no shell in between. All keys are there; `null` is "not said". */
export const SystemRunPlan = Strict({
  argv: Type.Array(Type.String()),
  cwd: nullable,
  rawCommand: nullable,
  agentId: nullable,
  sessionKey: nullable,
});
export type SystemRunPlan = Static<typeof SystemRunPlan>;

/** A file whose content is allowed together with a command. */
export const BoundFile = Strict({
  path: Type.String({ description: "absolute, symbolic links followed" }),
  sha256: Type.String({ description: "of its content, hex" }),
  bytes: Type.Integer({ minimum: 0 }),
  runs: Type.Optional(
    Type.Literal(true, {
      description: "it is run: the program, its script, or what that loads. Absent: the command names it",
    }),
  ),
});
export type BoundFile = Static<typeof BoundFile>;

const rules = {
  security: Type.Optional(Type.String({ description: "deny, allowlist or full; default deny" })),
  ask: Type.Optional(Type.String({ description: "off, on-miss or always; default on-miss" })),
  askFallback: Type.Optional(Type.String({ description: "what holds when nobody answers; default deny" })),
  autoAllowSkills: Type.Optional(Type.Boolean()),
};

const allowed = {
  pattern: Type.String(),
  args: Type.Optional(
    Type.Array(Type.String(), {
      description: "exactly these arguments, without the program's name; absent: see anyArguments",
    }),
  ),
  cwd: Type.Optional(
    Type.String({ description: "absolute, links followed: in this directory only; absent: everywhere" }),
  ),
  anyArguments: Type.Optional(
    Type.Boolean({
      description: "every argument; default false: those of the program's profile, and none without one",
    }),
  ),
  sha256: Type.Optional(
    Type.String({
      pattern: "^[0-9a-fA-F]{64}$",
      description: "of the one file agents can write that would run; absent: they can write none",
    }),
  ),
};

/**
 * Which program an agent may run, and with which arguments. Spec: `pattern` (protocol/stores.md §7). Choice: all else; an entry with
 * a pattern alone means what it did for programs that have a profile, and nothing for others.
 */
export const AllowedProgram = Strict(allowed);
export type AllowedProgram = Static<typeof AllowedProgram>;

/** Who may run what. Precedence: the agent, then `*`, then `defaults`. */
export const ExecPolicyFile = Strict({
  version: Type.Literal(1),
  socket: Type.Optional(Strict({ path: Type.Optional(Type.String()), token: Type.Optional(Type.String()) })),
  defaults: Type.Optional(Strict(rules)),
  agents: Type.Optional(
    Type.Record(
      Type.String(),
      Strict({
        ...rules,
        allowlist: Type.Optional(
          Type.Array(
            Strict({
              id: Type.Optional(NonEmpty),
              ...allowed,
              lastUsedAt: Type.Optional(Type.Integer()),
              lastUsedCommand: Type.Optional(Type.String()),
              lastResolvedPath: Type.Optional(Type.String()),
            }),
          ),
        ),
      }),
    ),
  ),
});
export type ExecPolicyFile = Static<typeof ExecPolicyFile>;

/** The file as readers get it: without the token of its socket. */
export const ExecPolicySnapshot = Type.Object({
  path: Type.String(),
  exists: Type.Boolean(),
  hash: Type.String({ description: "SHA-256 of the file, hex" }),
  file: ExecPolicyFile,
});
export type ExecPolicySnapshot = Static<typeof ExecPolicySnapshot>;

/**
 * Schemas for running a command: its plan, and the policy file that says what may run. Spec: protocol/stores.md §7,
 * methods-exec-approvals.md §1-2.
 */
import { NonEmpty, type Static, Strict, Type } from "../schema.ts";

const nullable = Type.Union([Type.String(), Type.Null()]);

/** A command as it will run, without a shell. All keys are present; `null` means unspecified. */
export const SystemRunPlan = Strict({
  argv: Type.Array(Type.String()),
  cwd: nullable,
  rawCommand: nullable,
  agentId: nullable,
  sessionKey: nullable,
});
export type SystemRunPlan = Static<typeof SystemRunPlan>;

/** A file whose content is approved together with a command. */
export const BoundFile = Strict({
  path: Type.String({ description: "absolute, symbolic links followed" }),
  sha256: Type.String({ description: "SHA-256 of its content, hex" }),
  bytes: Type.Integer({ minimum: 0 }),
  runs: Type.Optional(
    Type.Literal(true, {
      description: "executed: the program, its script, or a file they load; absent: the command only names the file",
    }),
  ),
});
export type BoundFile = Static<typeof BoundFile>;

const rules = {
  security: Type.Optional(Type.String({ description: "deny, allowlist or full; default deny" })),
  ask: Type.Optional(Type.String({ description: "off, on-miss or always; default on-miss" })),
  askFallback: Type.Optional(Type.String({ description: "used if nobody answers; default deny" })),
  autoAllowSkills: Type.Optional(
    Type.Boolean({
      description:
        "true: programs named by skills that agents cannot write count as allowed, with any arguments; default false",
    }),
  ),
};

const allowed = {
  pattern: Type.String(),
  args: Type.Optional(
    Type.Array(Type.String(), {
      description: "exactly these arguments, without the program name; absent: see anyArguments",
    }),
  ),
  cwd: Type.Optional(
    Type.String({ description: "only in this directory: absolute, links resolved; absent: anywhere" }),
  ),
  anyArguments: Type.Optional(
    Type.Boolean({
      description: "allow any arguments; default false: only those of the program's profile, or none without a profile",
    }),
  ),
  sha256: Type.Optional(
    Type.String({
      pattern: "^[0-9a-fA-F]{64}$",
      description: "hash of the one executed file that agents can write; absent: agents can write none",
    }),
  ),
};

/**
 * A program an agent may run, and its allowed arguments. Spec: `pattern` (protocol/stores.md §7). Choice: everything
 * else. An entry with only a pattern keeps its meaning for programs with a profile and allows nothing for others.
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

/** The policy file as returned to clients, without the token of its socket. */
export const ExecPolicySnapshot = Type.Object({
  path: Type.String(),
  exists: Type.Boolean(),
  hash: Type.String({ description: "SHA-256 of the file, hex" }),
  file: ExecPolicyFile,
});
export type ExecPolicySnapshot = Static<typeof ExecPolicySnapshot>;

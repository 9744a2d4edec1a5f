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
              pattern: Type.String(),
              sha256: Type.Optional(
                Type.String({
                  pattern: "^[0-9a-fA-F]{64}$",
                  description: "of the one file agents can write that would run",
                }),
              ),
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

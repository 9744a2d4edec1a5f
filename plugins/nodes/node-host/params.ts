/** Params of each command of a node. Unknown keys are ignored, since a newer gateway may send more. Spec: protocol/methods-node.md §4. */
import { describeViolations, matches, type Static, type TSchema, Type } from "@svc/sdk";
import { BoundFile, ExecPolicyFile } from "@svc/sdk/approvals";
import { NodeRefusal } from "./refusal.ts";

/** Arguments of programs cannot contain NUL. */
// oxlint-disable-next-line no-control-regex -- it is what is looked for
const word = Type.String({ pattern: "^[^\\u0000]*$" });
const maybe = Type.Optional(Type.Union([word, Type.Null()]));

const commandLine = {
  command: Type.Array(word, { minItems: 1, maxItems: 4_096 }),
  rawCommand: maybe,
  cwd: maybe,
  agentId: maybe,
  sessionKey: maybe,
};

export const PrepareParams = Type.Object(commandLine);
export type PrepareParams = Static<typeof PrepareParams>;

/** Reason for ending a program when the node stops. */
export const NODE_STOPS = "the node is being stopped";

/** Choice: timeout of a program in milliseconds. */
export const RUN_TIMEOUT_MS = { default: 120_000, most: 3_600_000 } as const;

export const RunParams = Type.Object({
  ...commandLine,
  env: Type.Optional(Type.Union([Type.Record(Type.String(), word), Type.Null()])),
  timeoutMs: Type.Optional(
    Type.Union([Type.Integer({ minimum: 1, maximum: RUN_TIMEOUT_MS.most, description: "milliseconds" }), Type.Null()]),
  ),
  runId: maybe,
  files: Type.Optional(Type.Union([Type.Array(BoundFile, { description: "approved file contents" }), Type.Null()])),
  approved: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
  approvalDecision: Type.Optional(Type.Union([Type.Literal("allow-once"), Type.Literal("allow-always"), Type.Null()])),
});
export type RunParams = Static<typeof RunParams>;

export const WhichParams = Type.Object({
  bins: Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { maxItems: 200 }),
});
export type WhichParams = Static<typeof WhichParams>;

export const NotifyParams = Type.Object({
  title: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  body: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});
export type NotifyParams = Static<typeof NotifyParams>;

export const PolicyGetParams = Type.Object({});

export const PolicySetParams = Type.Object({
  file: ExecPolicyFile,
  baseHash: Type.Optional(Type.Union([Type.String({ minLength: 1 }), Type.Null()])),
});
export type PolicySetParams = Static<typeof PolicySetParams>;

/** @throws NodeRefusal `INVALID_REQUEST` naming each invalid field */
export function checked<S extends TSchema>(schema: S, command: string, given: unknown): Static<S> {
  if (matches(schema, given)) return given;
  throw new NodeRefusal("INVALID_REQUEST", `invalid ${command} params: ${describeViolations(schema, given)}`);
}

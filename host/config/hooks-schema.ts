/** Section `hooks`: webhooks and what they are made into. Spec: §4.5, http/webhooks.md §1 and §6.1. Everything in it is hot. */
import { NonEmpty, type Static, Strict, Type } from "@svc/sdk";

type Options = Record<string, unknown>;

const hot = (description: string, more: Options = {}) => ({ description, reload: "hot", ...more });
/** Inside the list of mappings: a list changes as a whole. */
const item = (description: string, more: Options = {}) => ({ description, ...more });
const Text = (options: Options) => Type.Optional(Type.String(options));
const Flag = (options: Options) => Type.Optional(Type.Boolean(options));

/** Choice: long enough for any text, short enough that a configuration cannot hold up a request. */
const MAX_TEMPLATE = 65_536;
const Template = (description: string, more: Options = {}) =>
  Text(item(`${description} Template.`, { maxLength: MAX_TEMPLATE, ...more }));

const Match = Strict({
  path: Text(item("Sub-path; slashes around it do not count. Absent, blank or /: every path.")),
  source: Text(item("Value of payload.source. Default: any.")),
  headers: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1 })]),
      item("Header name -> value, or one of several values."),
    ),
  ),
  when: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Unknown(),
      item(
        "Place in the payload, like a.b[0].c -> value, one of several values, {exists: true|false} or {not: value}.",
      ),
    ),
  ),
});

const Secret = Type.String({ minLength: 1, sensitive: true });

const Verify = Strict({
  type: Type.String(
    item("How the sender is known: bearer (the hook token), or a verifier of a plugin.", { minLength: 1 }),
  ),
  secret: Type.Optional(
    Type.Union(
      [Secret, Type.Array(Secret, { minItems: 1, maxItems: 16 })],
      item("What the sender signs with; several while one is replaced."),
    ),
  ),
  toleranceSeconds: Type.Optional(
    Type.Integer(
      item(
        "Seconds a signed time may be off; at most half the day for which deliveries are remembered. Default: the verifier's.",
        { minimum: 1, maximum: 43_200 },
      ),
    ),
  ),
});

const TransformRef = Strict({
  module: Type.String(item("File relative to hooks.transformsDir.", { minLength: 1, maxLength: 1_024 })),
  export: Text(item("Name of its export. Default: default, then transform.", { minLength: 1 })),
  placement: Type.Optional(
    Type.Enum(["host", "worker"], item("worker: one that spins or eats memory costs its request only. Default host.")),
  ),
  timeoutMs: Type.Optional(
    Type.Integer(item("Milliseconds until it is given up. Default 5000.", { minimum: 1, maximum: 60_000 })),
  ),
});

/** What every mapping may have. Further keys are those of its action: plugins have them, and the mapping engine refuses others. */
const Mapping = Type.Object({
  id: Text(item("Name of the mapping. Default mapping-<n>, from 1.", { minLength: 1, maxLength: 128 })),
  enabled: Flag(item("False takes it out of service. Default true.")),
  match: Type.Optional(Match),
  action: Text(
    item("What it becomes: an action of a plugin. Default: the one that plugins make the default.", {
      minLength: 1,
    }),
  ),
  verify: Type.Optional(Verify),
  idempotencyKey: Template("Requests with the same key within 24 h are one."),
  allowUnsafeExternalContent: Flag(item("Dangerous: hands the text to the model unmarked. Default false.")),
  transform: Type.Optional(TransformRef),
});

export const HooksSection = Strict({
  enabled: Flag(hot("Serves webhooks. Default false.")),
  token: Text(
    hot("What senders prove themselves with; not the gateway's own. Required when enabled.", { sensitive: true }),
  ),
  path: Text(hot("Base path. Default /hooks.")),
  maxBodyBytes: Type.Optional(
    Type.Integer(hot("Bytes of a request body. Default 262144.", { minimum: 1, maximum: 67_108_864 })),
  ),
  defaultSessionKey: Text(hot("Session of runs that ask for none. Default: a new one each.")),
  allowRequestSessionKey: Flag(hot("Senders may choose the session. Default false.")),
  allowedSessionKeyPrefixes: Type.Optional(
    Type.Array(
      Type.String(),
      hot("How session keys of requests and mappings may begin. Default: hook: in requests, anything in mappings."),
    ),
  ),
  allowedAgentIds: Type.Optional(
    Type.Array(
      Type.String(),
      hot("Ids that may be asked for and that are used by default; * is all. Default: all; empty: none."),
    ),
  ),
  presets: Type.Optional(Type.Array(NonEmpty, hot("Sets of mappings of plugins, tried after the mappings."))),
  disabled: Type.Optional(
    Type.Array(NonEmpty, hot("Ids of preset mappings and of direct paths that are out of service.")),
  ),
  transformsDir: Text(
    hot("Directory of transforms, inside hooks/transforms beside the configuration. Default: that one."),
  ),
  mappings: Type.Optional(
    Type.Array(Mapping, hot("Tried in order; the first that matches counts.", { maxItems: 1_000 })),
  ),
});
export type HooksSection = Static<typeof HooksSection>;

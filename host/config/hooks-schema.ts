/** Section `hooks`: webhooks and their mappings. Spec: §4.5, http/webhooks.md §1 and §6.1. All keys are hot. */
import { NonEmpty, type Static, Strict, Type } from "@svc/sdk";

type Options = Record<string, unknown>;

const hot = (description: string, more: Options = {}) => ({ description, reload: "hot", ...more });
/** For keys inside the list of mappings: without `reload`, since a list changes as a whole. */
const item = (description: string, more: Options = {}) => ({ description, ...more });
const Text = (options: Options) => Type.Optional(Type.String(options));
const Flag = (options: Options) => Type.Optional(Type.Boolean(options));

/** Choice: long enough for any text, short enough not to delay a request. */
const MAX_TEMPLATE = 65_536;
const Template = (description: string, more: Options = {}) =>
  Text(item(`${description} Template.`, { maxLength: MAX_TEMPLATE, ...more }));

const Match = Strict({
  path: Text(item("Sub-path; leading and trailing slashes are ignored. Absent, blank or /: every path.")),
  source: Text(item("Value of payload.source. Default: any.")),
  headers: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Union([Type.String(), Type.Array(Type.String(), { minItems: 1 })]),
      item("Header name -> required value, or a list of accepted values."),
    ),
  ),
  when: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Unknown(),
      item(
        "Payload path, e.g. a.b[0].c -> required value, a list of accepted values, {exists: true|false} or {not: value}.",
      ),
    ),
  ),
});

const Secret = Type.String({ minLength: 1, sensitive: true });

const Verify = Strict({
  type: Type.String(
    item("How the sender is authenticated: bearer (the hook token), or a verifier of a plugin.", { minLength: 1 }),
  ),
  secret: Type.Optional(
    Type.Union(
      [Secret, Type.Array(Secret, { minItems: 1, maxItems: 16 })],
      item("Secret the sender signs with; several during a rotation."),
    ),
  ),
  toleranceSeconds: Type.Optional(
    Type.Integer(
      item(
        "Allowed deviation of a signed timestamp in seconds. Maximum: 12 hours, half the time for which deliveries are remembered. Default: the verifier's.",
        { minimum: 1, maximum: 43_200 },
      ),
    ),
  ),
});

const TransformRef = Strict({
  module: Type.String(item("File relative to hooks.transformsDir.", { minLength: 1, maxLength: 1_024 })),
  export: Text(item("Name of the export. Default: default, then transform.", { minLength: 1 })),
  placement: Type.Optional(
    Type.Enum(
      ["host", "worker"],
      item("worker: an endless loop or excessive memory use affects only its request. Default host."),
    ),
  ),
  timeoutMs: Type.Optional(
    Type.Integer(item("Time limit in milliseconds. Default 5000.", { minimum: 1, maximum: 60_000 })),
  ),
});

/** Keys of every mapping. Plugins define the additional keys of their actions; the mapping engine refuses all others. */
const Mapping = Type.Object({
  id: Text(item("Name of the mapping. Default mapping-<n>, from 1.", { minLength: 1, maxLength: 128 })),
  enabled: Flag(item("False disables the mapping. Default true.")),
  match: Type.Optional(Match),
  action: Text(
    item("Action of a plugin that the request triggers. Default: the action that a plugin declares as default.", {
      minLength: 1,
    }),
  ),
  verify: Type.Optional(Verify),
  idempotencyKey: Template("Requests with the same key within 24 h are handled once."),
  allowUnsafeExternalContent: Flag(
    item("Dangerous: passes the text to the model without marking it as external. Default false."),
  ),
  transform: Type.Optional(TransformRef),
});

export const HooksSection = Strict({
  enabled: Flag(hot("Serves webhooks. Default false.")),
  token: Text(
    hot("Token that senders authenticate with; must differ from the gateway's. Required when enabled.", {
      sensitive: true,
    }),
  ),
  path: Text(hot("Base path. Default /hooks.")),
  maxBodyBytes: Type.Optional(
    Type.Integer(hot("Maximum bytes of a request body. Default 262144.", { minimum: 1, maximum: 67_108_864 })),
  ),
  defaultSessionKey: Text(hot("Session of runs that name none. Default: a new session per run.")),
  allowRequestSessionKey: Flag(hot("Senders may choose the session. Default false.")),
  allowedSessionKeyPrefixes: Type.Optional(
    Type.Array(
      Type.String(),
      hot("Allowed prefixes of session keys in requests and mappings. Default: hook: in requests, any in mappings."),
    ),
  ),
  allowedAgentIds: Type.Optional(
    Type.Array(
      Type.String(),
      hot("Ids that requests and mappings may use, the default one included; * allows all. Default: all; empty: none."),
    ),
  ),
  presets: Type.Optional(Type.Array(NonEmpty, hot("Mapping presets of plugins, tried after the mappings."))),
  disabled: Type.Optional(Type.Array(NonEmpty, hot("Ids of disabled preset mappings and direct paths."))),
  transformsDir: Text(
    hot(
      "Directory of transforms; must be inside hooks/transforms next to the configuration file. Default: that directory.",
    ),
  ),
  mappings: Type.Optional(
    Type.Array(Mapping, hot("Mappings, tried in order; the first match is used.", { maxItems: 1_000 })),
  ),
});
export type HooksSection = Static<typeof HooksSection>;

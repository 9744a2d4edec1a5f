/** `connect` and its answer. Spec: §2.2-2.4, protocol/frames-and-connect.md §4 and §11. */
import { NonEmpty, Strict, type Static, Type } from "../schema.ts";
import { EventCursor, StateVersion } from "./frames.ts";

/**
 * Who is calling. Choice (spec/README.md): any non-empty `id` and `mode` is accepted, the known ones have
 * a meaning; unknown extra keys are accepted, so that a newer client still connects.
 */
export const ConnectClient = Type.Object({
  id: NonEmpty,
  displayName: Type.Optional(NonEmpty),
  version: NonEmpty,
  platform: NonEmpty,
  deviceFamily: Type.Optional(NonEmpty),
  modelIdentifier: Type.Optional(NonEmpty),
  mode: NonEmpty,
  instanceId: Type.Optional(NonEmpty),
});

/** Client ids and modes with rules of their own. Spec: frames-and-connect.md §4 "Derived flags". */
export const WEB_PANEL_CLIENT_ID = "svc-control-ui";

/** A page in a browser: its origin is mandatory. */
export function isWebClient({ id, mode }: Static<typeof ConnectClient>): boolean {
  return id === WEB_PANEL_CLIENT_ID || id === "webchat-ui" || mode === "webchat";
}

/** Proof of a device key. Spec: frames-and-connect.md §6. */
export const ConnectDevice = Strict({
  id: NonEmpty,
  publicKey: NonEmpty,
  signature: NonEmpty,
  signedAt: Type.Integer({ minimum: 0, description: "epoch ms" }),
  nonce: NonEmpty,
});

/** Params of `connect`. Strict but for `client`. */
export const ConnectParams = Strict({
  minProtocol: Type.Integer({ minimum: 1 }),
  maxProtocol: Type.Integer({ minimum: 1 }),
  client: ConnectClient,
  caps: Type.Optional(Type.Array(NonEmpty)),
  commands: Type.Optional(Type.Array(NonEmpty)),
  permissions: Type.Optional(Type.Record(Type.String(), Type.Boolean())),
  pathEnv: Type.Optional(Type.String()),
  role: Type.Optional(NonEmpty),
  scopes: Type.Optional(Type.Array(NonEmpty)),
  device: Type.Optional(ConnectDevice),
  auth: Type.Optional(
    Strict({
      token: Type.Optional(Type.String()),
      deviceToken: Type.Optional(Type.String()),
      password: Type.Optional(Type.String()),
    }),
  ),
  /** The last event a client with the cap `resume` has seen: what came after is sent again. */
  resume: Type.Optional(EventCursor),
  locale: Type.Optional(Type.String()),
  userAgent: Type.Optional(Type.String()),
});
export type ConnectParams = Static<typeof ConnectParams>;

/** Payload of the answer to `connect`. */
export const HelloOk = Type.Object({
  type: Type.Literal("hello-ok"),
  protocol: Type.Integer(),
  server: Type.Object({ version: NonEmpty, connId: NonEmpty }),
  features: Type.Object({ methods: Type.Array(Type.String()), events: Type.Array(Type.String()) }),
  snapshot: Type.Object({
    stateVersion: Type.Optional(StateVersion),
    uptimeMs: Type.Integer({ description: "milliseconds" }),
    authMode: Type.String(),
    configPath: Type.Optional(Type.String({ description: "admins only" })),
    stateDir: Type.Optional(Type.String({ description: "admins only" })),
  }),
  auth: Type.Optional(
    Type.Object({
      deviceToken: Type.Optional(Type.String({ minLength: 1, description: "of a proven device" })),
      role: Type.String(),
      scopes: Type.Array(Type.String()),
      issuedAtMs: Type.Optional(Type.Integer()),
    }),
  ),
  /** For clients with the cap `resume`: where the events to come begin, and whether all that was missed follows. */
  resume: Type.Optional(Type.Object({ cursor: EventCursor, complete: Type.Boolean() })),
  policy: Type.Object({ maxPayload: Type.Integer(), maxBufferedBytes: Type.Integer(), tickIntervalMs: Type.Integer() }),
});
export type HelloOk = Static<typeof HelloOk>;

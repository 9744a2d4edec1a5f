/** `connect` and its response. Spec: §2.2-2.4, protocol/frames-and-connect.md §4 and §11. */
import { NonEmpty, Strict, type Static, Type } from "../schema.ts";
import { EventCursor, StateVersion } from "./frames.ts";

/**
 * The connecting client. Choice (spec/README.md): any non-empty `id` and `mode` is accepted, and known ones have
 * a meaning; unknown keys are accepted, so that a newer client can still connect.
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

/** Client ids and modes with special rules. Spec: frames-and-connect.md §4 "Derived flags". */
export const WEB_PANEL_CLIENT_ID = "svc-control-ui";

/** Whether the client is a page in a browser, for which an origin is mandatory. */
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

/** Params of `connect`. Strict except for `client`. */
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
  /** The last event that a client with the cap `resume` has seen: later events are sent again. */
  resume: Type.Optional(EventCursor),
  locale: Type.Optional(Type.String()),
  userAgent: Type.Optional(Type.String()),
});
export type ConnectParams = Static<typeof ConnectParams>;

/** Payload of the response to `connect`. */
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
      deviceToken: Type.Optional(Type.String({ minLength: 1, description: "for a device whose proof was verified" })),
      role: Type.String(),
      scopes: Type.Array(Type.String()),
      issuedAtMs: Type.Optional(Type.Integer()),
    }),
  ),
  /** For clients with the cap `resume`: the cursor at which new events begin, and whether all missed events follow. */
  resume: Type.Optional(Type.Object({ cursor: EventCursor, complete: Type.Boolean() })),
  canvasHostUrl: Type.Optional(Type.String({ description: "where the pages that nodes display are served" })),
  policy: Type.Object({ maxPayload: Type.Integer(), maxBufferedBytes: Type.Integer(), tickIntervalMs: Type.Integer() }),
});
export type HelloOk = Static<typeof HelloOk>;

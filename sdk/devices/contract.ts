/** Device pairing and device tokens. Spec: protocol/methods-device.md, protocol/events.md §2. */
import { defineContract, defineEvent } from "../contract.ts";
import { NonEmpty, type Static, Strict, Type } from "../schema.ts";

const text = Type.Optional(Type.String());
const strings = Type.Optional(Type.Array(Type.String()));
const Time = Type.Integer({ description: "epoch ms" });

/** Facts about a device, pending or paired. */
const facts = {
  deviceId: NonEmpty,
  publicKey: NonEmpty,
  displayName: text,
  platform: text,
  deviceFamily: text,
  clientId: text,
  clientMode: text,
  role: text,
  roles: strings,
  scopes: strings,
  remoteIp: text,
};

/** A device that waits for approval, exactly as it will be approved. */
export const PendingDevice = Type.Object({
  requestId: NonEmpty,
  ...facts,
  caps: strings,
  commands: Type.Optional(
    Type.Array(Type.String(), { description: "nodes: commands it may offer after the approval" }),
  ),
  silent: Type.Optional(Type.Boolean()),
  isRepair: Type.Optional(
    Type.Boolean({ description: "the device is already paired and requests more, or its metadata changed" }),
  ),
  reason: Type.Optional(
    Type.Enum(["not-paired", "metadata-upgrade", "role-upgrade", "scope-upgrade", "command-upgrade"]),
  ),
  ts: Time,
});
export type PendingDevice = Static<typeof PendingDevice>;

/** A device that may connect. Never contains a token's value. */
export const PairedDevice = Type.Object({
  ...facts,
  commands: Type.Optional(Type.Array(Type.String(), { description: "nodes: commands pinned at the approval" })),
  importedCommands: Type.Optional(
    Type.Enum(["awaited", "pinned"], {
      description:
        "imported nodes without approved commands: the next connect pins the commands that it declares, or one has done so",
    }),
  ),
  createdAtMs: Time,
  approvedAtMs: Time,
  tokens: Type.Optional(
    Type.Array(
      Type.Object({
        role: Type.String(),
        scopes: Type.Array(Type.String()),
        createdAtMs: Time,
        rotatedAtMs: Type.Optional(Time),
        revokedAtMs: Type.Optional(Time),
        lastUsedAtMs: Type.Optional(Time),
      }),
    ),
  ),
});
export type PairedDevice = Static<typeof PairedDevice>;

const Request = Strict({ requestId: NonEmpty });
const Holder = { deviceId: NonEmpty, role: NonEmpty };

/** Pairing of devices, and the tokens with which they reconnect. */
export const devices = defineContract("device", {
  list: {
    name: "device.pair.list",
    summary: "Pending and paired devices",
    scope: "operator.pairing",
    params: Strict({}),
    result: Type.Object({ pending: Type.Array(PendingDevice), paired: Type.Array(PairedDevice) }),
  },
  approve: {
    name: "device.pair.approve",
    summary: "Approve a pending device with exactly what its request shows",
    scope: "operator.pairing",
    params: Request,
    result: Type.Object({ requestId: NonEmpty, device: PairedDevice }),
  },
  reject: {
    name: "device.pair.reject",
    summary: "Reject a request; an existing pairing stays",
    scope: "operator.pairing",
    params: Request,
    result: Type.Object({ requestId: NonEmpty, deviceId: NonEmpty }),
  },
  remove: {
    name: "device.pair.remove",
    summary: "Remove a device and close its connections",
    scope: "operator.pairing",
    params: Strict({ deviceId: NonEmpty }),
    result: Type.Object({ deviceId: NonEmpty }),
  },
  rename: {
    name: "device.pair.rename",
    summary: "Name a paired device; the name precedes the one that the device reports",
    scope: "operator.pairing",
    params: Strict({ deviceId: NonEmpty, displayName: NonEmpty }),
    result: Type.Object({ deviceId: NonEmpty, displayName: Type.String() }),
  },
  invite: {
    name: "device.pair.invite",
    summary:
      "Create a one-time secret with which one new device connects as the caller would, without a further approval",
    scope: "operator.pairing",
    params: Strict({
      ttlMs: Type.Optional(
        Type.Integer({
          minimum: 10_000,
          maximum: 3_600_000,
          description: "milliseconds until it expires; default 900000",
        }),
      ),
    }),
    result: Type.Object({
      token: Type.String({ description: "sent once as `connect.auth.token` by an operator that proves a device" }),
      expiresAtMs: Time,
    }),
  },
  rotate: {
    name: "device.token.rotate",
    summary: "Issue a new token for a role of a device; the old one becomes invalid",
    scope: "operator.pairing",
    params: Strict({ ...Holder, scopes: Type.Optional(Type.Array(NonEmpty)) }),
    result: Type.Object({ ...Holder, token: NonEmpty, scopes: Type.Array(Type.String()), rotatedAtMs: Time }),
  },
  revoke: {
    name: "device.token.revoke",
    summary: "Revoke the token of a role of a device, and close the connections that rely on it",
    scope: "operator.pairing",
    params: Strict(Holder),
    result: Type.Object({ ...Holder, revokedAtMs: Time }),
  },
});

/** A device requests pairing. */
export const devicePairRequested = defineEvent({
  name: "device.pair.requested",
  summary: "A device requests pairing",
  payload: PendingDevice,
  scope: "operator.pairing",
  droppable: true,
});

/** A request of a device was decided. */
export const devicePairResolved = defineEvent({
  name: "device.pair.resolved",
  summary: "A request of a device was approved or rejected",
  payload: Type.Object({
    requestId: NonEmpty,
    deviceId: NonEmpty,
    decision: Type.Enum(["approved", "rejected"]),
    ts: Time,
  }),
  scope: "operator.pairing",
  droppable: true,
});

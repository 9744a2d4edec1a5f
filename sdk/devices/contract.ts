/** Device pairing and device tokens. Spec: protocol/methods-device.md, protocol/events.md §2. */
import { defineContract, defineEvent } from "../contract.ts";
import { NonEmpty, type Static, Strict, Type } from "../schema.ts";

const text = Type.Optional(Type.String());
const strings = Type.Optional(Type.Array(Type.String()));
const Time = Type.Integer({ description: "epoch ms" });

/** What is known of a device, whether it waits or is paired. */
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

/** A device that waits for somebody to approve it, exactly as it will be approved. */
export const PendingDevice = Type.Object({
  requestId: NonEmpty,
  ...facts,
  caps: strings,
  commands: Type.Optional(Type.Array(Type.String(), { description: "nodes: what an approval lets it offer" })),
  silent: Type.Optional(Type.Boolean()),
  isRepair: Type.Optional(
    Type.Boolean({ description: "it is paired already and asks for more, or came back changed" }),
  ),
  reason: Type.Optional(
    Type.Enum(["not-paired", "metadata-upgrade", "role-upgrade", "scope-upgrade", "command-upgrade"]),
  ),
  ts: Time,
});
export type PendingDevice = Static<typeof PendingDevice>;

/** A device that may connect. Never has the value of a token. */
export const PairedDevice = Type.Object({
  ...facts,
  commands: Type.Optional(Type.Array(Type.String(), { description: "nodes: pinned when it was approved" })),
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

/** Who may connect with a device of their own, and the tokens they come back with. */
export const devices = defineContract("device", {
  list: {
    name: "device.pair.list",
    summary: "Devices that wait for an approval, and those that are paired",
    scope: "operator.pairing",
    params: Strict({}),
    result: Type.Object({ pending: Type.Array(PendingDevice), paired: Type.Array(PairedDevice) }),
  },
  approve: {
    name: "device.pair.approve",
    summary: "Lets a waiting device in, with exactly what its request shows",
    scope: "operator.pairing",
    params: Request,
    result: Type.Object({ requestId: NonEmpty, device: PairedDevice }),
  },
  reject: {
    name: "device.pair.reject",
    summary: "Turns a request down; a pairing that exists stays",
    scope: "operator.pairing",
    params: Request,
    result: Type.Object({ requestId: NonEmpty, deviceId: NonEmpty }),
  },
  remove: {
    name: "device.pair.remove",
    summary: "Forgets a device and closes its connections",
    scope: "operator.pairing",
    params: Strict({ deviceId: NonEmpty }),
    result: Type.Object({ deviceId: NonEmpty }),
  },
  rotate: {
    name: "device.token.rotate",
    summary: "A new token for a role of a device; the old one is dead",
    scope: "operator.pairing",
    params: Strict({ ...Holder, scopes: Type.Optional(Type.Array(NonEmpty)) }),
    result: Type.Object({ ...Holder, token: NonEmpty, scopes: Type.Array(Type.String()), rotatedAtMs: Time }),
  },
  revoke: {
    name: "device.token.revoke",
    summary: "Ends the token of a role of a device, and the connections that rely on it",
    scope: "operator.pairing",
    params: Strict(Holder),
    result: Type.Object({ ...Holder, revokedAtMs: Time }),
  },
});

/** A device asks to be paired. */
export const devicePairRequested = defineEvent({
  name: "device.pair.requested",
  summary: "A device asks to be paired",
  payload: PendingDevice,
  scope: "operator.pairing",
  droppable: true,
});

/** Somebody decided about a device. */
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

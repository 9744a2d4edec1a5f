/** Devices: pairing during `connect`, device tokens, `device.*` methods and the `Devices` service. */
import { definePlugin, type Denial, invalidRequest, isGatewayError, lazy, optional, Turns, Type } from "@svc/sdk";
import { devicePairRequested, devicePairResolved, devices, Devices } from "@svc/sdk/devices";
import { Credentials } from "@svc/sdk/gateway";
import { DeviceRecord, Importer, importerOf } from "@svc/sdk/import";
import { Ownership, Retention, Storage } from "@svc/sdk/storage";
import { Approvals } from "./approval.ts";
import { DeviceStore } from "./device-store.ts";
import { Gate } from "./gate.ts";
import { Invitations } from "./invitations.ts";
import { missing } from "./missing.ts";
import { PendingStore } from "./pending-store.ts";
import { pendingView } from "./records.ts";
import { DEVICE_RETENTION, PENDING_RETENTION, STEPS } from "./schema.ts";
import { Directory } from "./service.ts";
import { noteTokenKey } from "./key-change.ts";
import { commonTokenKey, forgetCommonKey, keepTokenKey } from "./token-key.ts";
import { Tokens } from "./tokens.ts";

const importing = lazy(() => import("./import.ts"));

const Config = Type.Object({
  localApproval: Type.Enum(["silent", "ask"], {
    default: "silent",
    reload: "hot",
    title: "Devices of this machine",
    description:
      "`silent`: programs of this machine that know the gateway's secret are paired without asking; `ask`: every device waits for an approval.",
  }),
});

export default definePlugin({
  id: "devices",
  api: "^1.0.0",
  config: Config,
  requires: { storage: Storage, credentials: Credentials, ownership: optional(Ownership) },
  provides: [Devices],

  setup(gateway) {
    const { clock, log, services, hooks } = gateway;
    const { storage, credentials } = services;
    const requested = gateway.event(devicePairRequested);
    const resolved = gateway.event(devicePairResolved);
    let { localApproval } = gateway.config;
    let key: Uint8Array | undefined;

    const now = () => clock.now();
    const store = new DeviceStore(storage);
    const waiting = new PendingStore(storage);
    const shared = { storage, store, waiting, credentials, log, now };
    const approvals = new Approvals({
      ...shared,
      resolved: ({ requestId, deviceId }, decision) => resolved({ requestId, deviceId, decision, ts: now() }),
    });
    const invitations = new Invitations({ credentials, now });
    const gate = new Gate({
      ...shared,
      approvals,
      invitations,
      turns: new Turns(),
      isSilent: () => localApproval === "silent",
      requested: (request) => requested(pendingView(request)),
    });
    const tokens = new Tokens({ ...shared, invitations, key: () => key });
    const directory = new Directory({ ...shared, approvals, gate });

    gateway.provide(Devices, directory);
    gateway.configChanged((config) => void ({ localApproval } = config));
    hooks.authenticate.tap((attempt) => tokens.vouch(attempt));
    hooks.admitDevice.tap((admission) => denialOf(gate.admit(admission)));
    hooks.deviceToken.tap((admission) => tokens.issue(admission));

    gateway.serve(devices, {
      list: async () => ({ pending: await directory.pending(), paired: await directory.list() }),
      approve: ({ params, principal }) => directory.approve(params.requestId, principal),
      reject: ({ params }) => directory.reject(params.requestId),
      remove: ({ params, principal }) => directory.remove(params.deviceId, principal.id),
      async rename({ params: { deviceId, displayName } }) {
        const name = displayName.trim();
        if (/\p{Cc}/u.test(name)) invalidRequest("a name is one line of visible characters");
        return (await directory.rename(deviceId, name)) ? { deviceId, displayName: name } : missing.device(deviceId);
      },
      invite: ({ params, principal }) => invitations.create(principal, params.ttlMs),
      rotate: ({ params, principal }) => tokens.rotate(params, principal),
      revoke: ({ params, principal }) => tokens.revoke(params.deviceId, params.role, principal.id),
    });

    const sources = { storage, store, now, key: () => key };
    const imported = importerOf(
      { title: "devices", record: DeviceRecord },
      {
        takeOne: async (record) => (await importing()).takeDevice(sources, record),
        count: async () => (await importing()).countDevices(storage),
        give: async (after) => (await importing()).giveDevices(sources, after),
      },
    );
    gateway.extend(Importer, "device", imported);
    gateway.extend(Retention, "devices", DEVICE_RETENTION);
    gateway.extend(Retention, "device-requests", PENDING_RETENTION);
    gateway.start(async () => {
      await storage.migrate("devices", STEPS);
      if (services.ownership?.lease.leftMs === undefined) {
        key = await keepTokenKey(gateway.stateDir);
        await forgetCommonKey(storage);
      } else key = await commonTokenKey(gateway.stateDir, storage);
      await noteTokenKey({ storage, key, log });
      return () => tokens.idle();
    });
  },
});

/** Returns a GatewayError as a denial with its reason; any other error is rethrown and denies without one. */
async function denialOf(answer: Promise<Denial | undefined>): Promise<Denial | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    const { code, message, retryAfterMs, details } = error;
    return {
      allow: false,
      code,
      reason: message,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(details === undefined ? {} : { details }),
    };
  }
}

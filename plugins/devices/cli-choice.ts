/** Which request or device a command means. Pure. */
import { invalidRequest, notFound } from "@svc/sdk";
import { visible } from "@svc/sdk/cli";
import type { PairedDevice, PendingDevice } from "@svc/sdk/devices";
import { requestLines } from "./cli-lines.ts";

/** Choice: characters of a device id that may stand for it, so that a slip removes nothing. */
const SHORTEST_PREFIX = 4;

/**
 * The request to approve: the one with this very id, or the newest where that is what is wanted.
 * Choice: a single one is shown like several are: what is approved is what somebody looked at.
 * @throws GatewayError with the commands to choose from
 */
export function chosenRequest(
  pending: readonly PendingDevice[],
  requestId: string | undefined,
  latest: boolean,
): PendingDevice {
  if (requestId !== undefined && latest) invalidRequest("give a request id or --latest, not both");
  if (pending.length === 0 && requestId === undefined)
    notFound("nothing waits for an approval; let the device connect once, it waits for five minutes then");
  if (requestId !== undefined) {
    // No prefixes here: what is approved is what somebody looked at.
    const found = pending.find((request) => request.requestId === requestId);
    return (
      found ??
      notFound(
        `no request "${visible(requestId)}" waits; it was decided, has expired or has changed\nNext: svc devices list`,
      )
    );
  }
  const [newest] = [...pending].sort((left, right) => right.ts - left.ts);
  if (newest && latest) return newest;
  return invalidRequest(
    [
      pending.length === 1 ? "this request waits:" : `${pending.length} requests wait; say which:`,
      ...pending.flatMap(requestLines),
      "Next: svc devices approve <requestId>",
    ].join("\n"),
  );
}

/** The paired device with this id, or the only one whose id begins so. @throws GatewayError naming what there is */
export function chosenDevice(paired: readonly PairedDevice[], id: string): PairedDevice {
  const exact = paired.find(({ deviceId }) => deviceId === id);
  if (exact) return exact;
  const prefix = id.toLowerCase();
  if (prefix.length < SHORTEST_PREFIX)
    invalidRequest(`give at least ${SHORTEST_PREFIX} characters of the device id\nNext: svc devices list`);
  const [found, ...others] = paired.filter(({ deviceId }) => deviceId.startsWith(prefix));
  if (!found) return notFound(`no paired device "${visible(id)}"\nNext: svc devices list`);
  if (others.length === 0) return found;
  const all = [found, ...others].map(({ deviceId }) => visible(deviceId)).join(", ");
  return invalidRequest(`"${visible(id)}" begins the ids of several devices: ${all}\nNext: give more of the id`);
}

/** The role a command means, where a device has only one. @throws GatewayError naming the roles */
export function chosenRole({ roles = [] }: PairedDevice, role: string | undefined): string {
  const [only, ...others] = roles;
  if (role !== undefined) return role;
  if (only !== undefined && others.length === 0) return only;
  return invalidRequest(`say which role: ${roles.map(visible).join(", ")}`);
}

/** Selects the request or device of a command. Pure. */
import { invalidRequest, notFound } from "@svc/sdk";
import { visible } from "@svc/sdk/cli";
import type { PairedDevice, PendingDevice } from "@svc/sdk/devices";
import { requestLines } from "./cli-lines.ts";

/** Choice: minimum length of a device id prefix, so that a typing error removes nothing. */
const SHORTEST_PREFIX = 4;

/**
 * The request to approve: the one with exactly this id, or the newest with `latest`.
 * Choice: a single request is listed too, not approved: people must see a request before they approve it.
 * @throws GatewayError that lists the commands to choose from
 */
export function chosenRequest(
  pending: readonly PendingDevice[],
  requestId: string | undefined,
  latest: boolean,
): PendingDevice {
  if (requestId !== undefined && latest) invalidRequest("give a request id or --latest, not both");
  if (pending.length === 0 && requestId === undefined)
    notFound("no request waits for an approval; let the device connect, its request is then valid for five minutes");
  if (requestId !== undefined) {
    // No prefixes: the id must be that of the request that people have seen.
    const found = pending.find((request) => request.requestId === requestId);
    return (
      found ??
      notFound(
        `no request "${visible(requestId)}" waits for an approval; it was decided, has expired or has changed\nNext: svc devices list`,
      )
    );
  }
  const [newest] = [...pending].sort((left, right) => right.ts - left.ts);
  if (newest && latest) return newest;
  return invalidRequest(
    [
      pending.length === 1
        ? "one request waits for an approval:"
        : `${pending.length} requests wait for an approval; choose one:`,
      ...pending.flatMap(requestLines),
      "Next: svc devices approve <requestId>",
    ].join("\n"),
  );
}

/** The paired device with this id, or the only one whose id starts with it. @throws GatewayError naming the candidates */
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
  return invalidRequest(
    `the ids of several devices start with "${visible(id)}": ${all}\nNext: give more characters of the id`,
  );
}

/** The given role, or the only role of the device. @throws GatewayError naming the roles */
export function chosenRole({ roles = [] }: PairedDevice, role: string | undefined): string {
  const [only, ...others] = roles;
  if (role !== undefined) return role;
  if (only !== undefined && others.length === 0) return only;
  return invalidRequest(`choose a role of the device: ${roles.map(visible).join(", ")}`);
}

/** Reads HEARTBEAT.md of a workspace. */
import { readWithin } from "@svc/kit/files";

const NAME = "HEARTBEAT.md";
/** Choice: bytes of the file that are read. */
const MAX_BYTES = 20_000;

/** `undefined`: the file does not exist. @throws GatewayError `INVALID_REQUEST` for a link or something other than a regular file */
export async function heartbeatFile(workspace: string): Promise<string | undefined> {
  const file = await readWithin(workspace, NAME, MAX_BYTES);
  return file?.bytes.toString("utf8");
}

/** Turns errors of the file system into refusals for the agent. */
import { diskRefusal } from "@svc/kit/files";

/** @param what the file, for messages @throws GatewayError for errors of the file system; other errors unchanged */
export async function withDiskRefusals<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw diskRefusal(error, what, { permissions: "INVALID_REQUEST", isNamed: true }) ?? error;
  }
}

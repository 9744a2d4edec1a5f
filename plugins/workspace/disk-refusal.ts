/** What an agent is told when the file system does not do what it is asked for. */
import { diskRefusal } from "@svc/kit/files";

/** @param what the file @throws GatewayError instead of errors of the file system; all else as it is */
export async function withDiskRefusals<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw diskRefusal(error, what, { permissions: "INVALID_REQUEST", isNamed: true }) ?? error;
  }
}

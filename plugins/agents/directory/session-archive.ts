/** Archives the conversations of a deleted agent. */
import type { Principal } from "@svc/sdk";
import { messageOf } from "@svc/sdk/errors";
import type { Sessions } from "@svc/sdk/sessions";

/** Sessions of one page. */
const PAGE = 500;

/**
 * Stops the runs of every session of an agent and archives the session: a later agent with the same id must not inherit it.
 * @param forget as `sessions.delete` @returns sessions that could not be archived, with the reason
 */
export function createSessionArchive(
  sessions: Pick<Sessions, "recent">,
  forget: (key: string, principal: Principal) => Promise<unknown>,
) {
  return async (agentId: string, principal: Principal): Promise<readonly string[]> => {
    const failed = new Map<string, string>();
    for (;;) {
      const page = await sessions.recent({ limit: PAGE + failed.size, agentId });
      // The session `global`, which belongs to the default agent, is not archived.
      const keys = page.map(({ key }) => key).filter((key) => key.startsWith(`agent:${agentId}:`) && !failed.has(key));
      if (keys.length === 0) break;
      for (const key of keys) {
        try {
          await forget(key, principal);
        } catch (error) {
          failed.set(key, messageOf(error));
        }
      }
    }
    return [...failed].map(([key, reason]) => `session ${key}: ${reason}`);
  };
}

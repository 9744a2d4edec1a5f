/** Whoever calls methods of a gateway: over a connection, or within it for somebody. */
import type { Method, ParamsOf, ResultOf } from "@svc/sdk";

/** Calls methods of a gateway, always for the same caller. */
export interface Caller {
  call<M extends Method>(
    method: M,
    params: ParamsOf<M>,
    options?: {
      readonly timeoutMs?: number;
      readonly expectFinal?: boolean;
      readonly onAccepted?: (payload: unknown) => void;
    },
  ): Promise<ResultOf<M>>;
}

/** Caller of gateway methods: over a connection, or inside the gateway on behalf of a principal. */
import type { Method, ParamsOf, ResultOf } from "@svc/sdk";

/** Calls methods of a gateway, always as the same principal. */
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

import { once } from 'node:events';
import { alternateBetween } from './alternating-proxy.ts';
import { onPostgres, storedIn } from './embedded-service.ts';
import { freePort } from './free-port.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';

/**
 * The embedded service, which can be killed and started again at the same address. On PostgreSQL it is two processes on
 * one database that get its requests in turn, so that what one of them stores is read by the other.
 */
export class RestartableService {
  readonly url: string;
  readonly #ports: number[];
  readonly #environment: Record<string, string>;
  #processes: ServiceProcess[] = [];

  private constructor(url: string, ports: number[], environment: Record<string, string>) {
    this.url = url;
    this.#ports = ports;
    this.#environment = environment;
  }

  /** Starts the service on a storage. It ends with the test, or with the file when started at its top level. */
  static async on(data: string): Promise<RestartableService> {
    const ports = onPostgres ? [await freePort(), await freePort()] : [await freePort()];
    const urls = ports.map((port) => `http://127.0.0.1:${port}`);
    const url = onPostgres ? await alternateBetween(urls) : urls[0]!;
    const service = new RestartableService(url, ports, storedIn(data));
    await service.start();
    return service;
  }

  async start(): Promise<void> {
    this.#processes = await Promise.all(
      this.#ports.map((port) => startServiceProcess(this.#environment, ['--port', String(port)])),
    );
  }

  /** Ends every process at once with SIGKILL. */
  async kill(): Promise<void> {
    await Promise.all(
      this.#processes.map(async ({ child }) => {
        const ended = once(child, 'exit');
        child.kill('SIGKILL');
        await ended;
      }),
    );
  }
}

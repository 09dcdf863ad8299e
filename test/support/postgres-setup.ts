import { openServiceStore } from '../../src/service/start-service.ts';
import { Cluster } from './postgres-cluster.ts';

/**
 * Starts a PostgreSQL server, in which the tests of the embedded service then keep their data. `template1` gets heddle's tables: a
 * database that is copied from it takes half the time of one that heddle prepares.
 */
export default async function setup(): Promise<() => void> {
  const cluster = await Cluster.make();
  process.env.HEDDLE_TEST_DATABASE_URL = cluster.url;
  await (await openServiceStore(Object.assign(new URL(cluster.url), { pathname: 'template1' }).href)).close();
  return () => cluster.remove();
}

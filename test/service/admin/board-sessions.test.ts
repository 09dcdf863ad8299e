import { describe, expect, it } from 'vitest';
import { execute, startTestService, withStore } from '../../support/embedded-service.ts';

const ann = { account: 'ann', project: 'team/support' };

describe('invitations to the board', () => {
  it('create the account, let it see the project, and are used once, however many try at once', async () => {
    const { data, running } = await startTestService();
    const { token, queue_id } = await withStore(data, (store) => store.invite(ann));
    expect(queue_id).toBeNull();
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => running.boardSessions.useInvitation(token)));
    expect(outcomes.filter((outcome) => 'session' in outcome)).toEqual([
      {
        session: { token: expect.stringMatching(/^[\w-]{43}$/), maxAgeSeconds: 1_209_600, account: 'ann' },
        project: 'team/support',
        queue: null,
      },
    ]);
    expect(outcomes.filter((outcome) => 'refused' in outcome)).toEqual(
      Array.from({ length: 3 }, () => ({
        refused: 'used',
        account: 'ann',
        project_id: 'team/support',
        queue_id: null,
      })),
    );
    expect(await running.boardSessions.projectsOf('ann')).toEqual(['team/support']);
    expect(await running.boardSessions.useInvitation(`${token}x`)).toEqual({ refused: 'unknown' });
  });

  it('store hashes of secrets only', async () => {
    const { data, running } = await startTestService();
    const { token } = await withStore(data, (store) => store.invite(ann));
    const used = await running.boardSessions.useInvitation(token);
    const rows = JSON.stringify([
      await execute(data, 'select * from board_invitations'),
      await execute(data, 'select * from board_sessions'),
    ]);
    expect(rows).not.toContain(token);
    expect(rows).not.toContain('session' in used && used.session.token);
    expect(rows.match(/[0-9a-f]{64}/g)).toHaveLength(2);
  });

  it('end after a day', async () => {
    const { data, running } = await startTestService();
    const { token } = await withStore(data, (store) => store.invite(ann));
    const [row] = await execute(data, 'select * from board_invitations');
    expect(Date.parse(String(row!.expires_at)) - Date.parse(String(row!.created_at))).toBe(86_400_000);
    await execute(data, "update board_invitations set expires_at = '2026-01-01T00:00:00.000Z'");
    expect(await running.boardSessions.useInvitation(token)).toEqual({
      refused: 'expired',
      account: 'ann',
      project_id: 'team/support',
      queue_id: null,
    });
  });

  it('take the id or the name of a queue, and name the queues if there is none', async () => {
    const { data, running } = await startTestService({ sample: true });
    const project = 'demo/support';
    const byName = await withStore(data, (store) => store.invite({ account: 'ann', project, queue: 'Support-Triage' }));
    expect(byName.queue_id).toBe('support-triage');
    const wrong = withStore(data, (store) => store.invite({ account: 'bea', project, queue: 'nurses' }));
    await expect(wrong).rejects.toMatchObject({
      code: 'invalid_arguments',
      message: 'Nobody was invited: demo/support has no queue "nurses".',
      hint: 'Its queues: support-triage.',
    });
    expect(await running.boardSessions.isAccount('bea')).toBe(false);
  });

  it('refuse names and projects that cannot be', async () => {
    const { data } = await startTestService();
    for (const person of [
      { account: 'an n', project: 'team/support' },
      { account: 'ann', project: 'support' },
    ]) {
      await expect(withStore(data, (store) => store.invite(person))).rejects.toMatchObject({
        code: 'invalid_arguments',
      });
    }
  });

  it('and add-user refuse an account that differs only in case from another, and invite one that exists', async () => {
    const { data } = await startTestService();
    const conflict = {
      code: 'conflict',
      message: 'No account was created: ANN differs only in case from the account ann.',
      hint: 'Use ann if that is the same person, or choose another name.',
    };
    await withStore(data, async (store) => {
      await store.invite(ann);
      await expect(store.invite({ ...ann, account: 'ANN' })).rejects.toMatchObject(conflict);
      await expect(store.addUser('ANN')).rejects.toMatchObject(conflict);
      await store.invite(ann);
    });
  });
});

describe('sessions of the board', () => {
  it('begin with a password of the named account only, and end when they are replaced, ended or too old', async () => {
    const { data, running } = await startTestService();
    const { boardSessions: sessions } = running;
    const [first, second] = await withStore(data, async (store) => [
      await store.addUser('ann', ['team/support']),
      await store.addUser('bea', 'all'),
    ]);
    expect(await sessions.logIn('ann', second!.password)).toBeUndefined();
    expect(await sessions.logIn('ann', first!.token)).toBeUndefined();
    const one = (await sessions.logIn('ann', first!.password))!;
    expect(await sessions.accountOf(one.token)).toBe('ann');
    const two = (await sessions.logIn('ann', first!.password, one.token))!;
    expect([await sessions.accountOf(one.token), await sessions.accountOf(two.token)]).toEqual([undefined, 'ann']);
    await sessions.end(two.token);
    expect(await sessions.accountOf(two.token)).toBeUndefined();
    const three = (await sessions.logInAs(['nobody', 'bea']))!;
    expect(await sessions.accountOf(three.token)).toBe('bea');
    await execute(data, "update board_sessions set expires_at = '2026-01-01T00:00:00.000Z'");
    expect(await sessions.accountOf(three.token)).toBeUndefined();
    expect(await sessions.logInAs(['nobody'])).toBeUndefined();
  });

  it('all end with end-sessions, and so do open invitations', async () => {
    const { data, running } = await startTestService();
    const { boardSessions: sessions } = running;
    const account = await withStore(data, (store) => store.addUser('ann', ['team/support']));
    const { token } = await withStore(data, (store) => store.invite(ann));
    const started = [await sessions.logIn('ann', account.password), await sessions.logIn('ann', account.password)];
    expect(await withStore(data, (store) => store.endSessions('ann'))).toEqual({ sessions: 2, invitations: 1 });
    for (const session of started) expect(await sessions.accountOf(session!.token)).toBeUndefined();
    expect(await sessions.useInvitation(token)).toEqual({ refused: 'unknown' });
    await withStore(data, (store) => store.addUser('bea', 'all'));
    const later = [await sessions.logInAs(['ann']), await sessions.logInAs(['bea'])];
    expect(await withStore(data, (store) => store.endSessions())).toEqual({ sessions: 2, invitations: 0 });
    for (const session of later) expect(await sessions.accountOf(session!.token)).toBeUndefined();
  });
});

describe('the key of the board', () => {
  it('acts as the stored account of the user name, within its projects, and is no secret of any account', async () => {
    const service = await startTestService({ boardKey: 'key-of-the-board', sample: true });
    await withStore(service.data, (store) => store.addUser('ann', ['demo/support']));
    const as = (name: string, key = 'key-of-the-board'): string => `Basic ${btoa(`${name}:${key}`)}`;
    const query = (authorization: string, project_id: string) =>
      service.send('POST', '/annotation_queues/query', authorization, { project_id });
    expect((await query(as('ann'), 'demo/support')).status).toBe(200);
    expect((await query(as('ann'), 'team/other')).status).toBe(403);
    for (const authorization of [as('nobody'), as(''), as('ann', 'key'), 'Bearer key-of-the-board']) {
      expect((await query(authorization, 'demo/support')).status).toBe(401);
    }
    const other = await startTestService({ data: service.data });
    expect((await other.send('GET', '/projects', as('ann'))).status).toBe(401);
  });
});
